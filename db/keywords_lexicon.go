package db

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// lexiconMost is how many terms a lexicon holds, but for those of the pages it is used for
// just now: some 8 MB.
const lexiconMost = 50_000

// lexicon remembers what terms are in Postgres' index: their lexemes, as to_tsvector makes
// them. Terms that are not asked for any more are forgotten. It is for one goroutine. The
// zero value is ready.
type lexicon struct {
	// young holds what was asked for lately, old what was before that.
	young, old generation
	// serial numbers the documents that are made vectors.
	serial int
}

// generation is terms and lexemes by their configurations.
type generation struct {
	entries map[string]map[string]*termEntry
	words   map[string]map[string]*lexeme
	size    int
}

// termEntry is what a term is in the index: most are one lexeme, a stop word none.
type termEntry struct {
	lexemes []placedLexeme
	places  int // that the term takes
}

// placedLexeme is a lexeme with its place in a term, from 1 on.
type placedLexeme struct {
	*lexeme

	place int
}

// lexeme is one of the index, of which there is one in a configuration.
type lexeme struct {
	text string
	// index is its place in the vector of the document with a serial.
	serial, index int
}

// find returns what a term is; nil if that is not known.
func (l *lexicon) find(config, term string) *termEntry {
	if e := l.young.entries[config][term]; e != nil {
		return e
	}
	e := l.old.entries[config][term]
	if e != nil {
		l.keep(config, term, e)
		for _, p := range e.lexemes {
			put(&l.young.words, config, p.text, p.lexeme)
		}
	}
	return e
}

func (l *lexicon) keep(config, term string, e *termEntry) {
	put(&l.young.entries, config, strings.Clone(term), e)
	l.young.size++
}

// word returns the lexeme of a text.
func (l *lexicon) word(config, text string) *lexeme {
	w := l.young.words[config][text]
	if w == nil {
		if w = l.old.words[config][text]; w == nil {
			w = &lexeme{text: strings.Clone(text)}
		}
		put(&l.young.words, config, w.text, w)
	}
	return w
}

func put[V any](m *map[string]map[string]V, config, key string, v V) {
	if *m == nil {
		*m = map[string]map[string]V{}
	}
	of := (*m)[config]
	if of == nil {
		of = map[string]V{}
		(*m)[config] = of
	}
	of[key] = v
}

// unknownTerms are terms that a lexicon does not know.
type unknownTerms struct {
	configs, terms []string

	entries []*termEntry
}

func (u *unknownTerms) add(config, term string, e *termEntry) {
	u.configs, u.terms, u.entries = append(u.configs, config), append(u.terms, term), append(u.entries, e)
}

// read reads the terms of pages, and names the terms that have to be learned before they are made
// vectors.
func (l *lexicon) read(waiting []dbsqlc.KeywordsTakeRow) ([]readTerms, unknownTerms) {
	if l.young.size >= lexiconMost/2 {
		l.old, l.young = l.young, generation{}
	}
	var unknown unknownTerms
	out := make([]readTerms, len(waiting))
	for i, w := range waiting {
		for zone, text := range zonesOf(w) {
			if text == "" {
				continue
			}
			different := strings.Count(text, " ") + 1
			out[i].different += different
			out[i].zones[zone] = make([]*termEntry, 0, different+strings.Count(text, ","))
			for item := range strings.SplitSeq(text, " ") {
				term, places, _ := strings.Cut(item, ":")
				e := l.find(w.Config, term)
				if e == nil {
					e = new(termEntry)
					l.keep(w.Config, term, e)
					unknown.add(w.Config, term, e)
				}
				out[i].zones[zone] = place(out[i].zones[zone], e, places)
			}
		}
	}
	return out, unknown
}

// learn takes what each of the unknown terms is in the index, as the function
// KeywordsLexemes says. Where that cannot be known, forget must be called.
func (l *lexicon) learn(u unknownTerms, vectors []string) error {
	if len(vectors) != len(u.terms) {
		return fmt.Errorf("%d terms of the index for %d", len(vectors), len(u.terms))
	}
	for i, vector := range vectors {
		if err := l.readEntry(u.entries[i], u.configs[i], vector); err != nil {
			return fmt.Errorf("read what %q is in the index: %w", u.terms[i], err)
		}
	}
	return nil
}

// forget forgets all that is known.
func (l *lexicon) forget() { l.young, l.old = generation{}, generation{} }

// readEntry reads a tsvector such as 'co2':1 'emission':2 and, after the term, '1':3.
func (l *lexicon) readEntry(e *termEntry, config, vector string) error {
	var v pgtype.TSVector
	if err := v.Scan(vector); err != nil {
		return err
	}
	for _, x := range v.Lexemes {
		for _, at := range x.Positions {
			e.lexemes = append(e.lexemes, placedLexeme{l.word(config, x.Word), int(at.Position)})
		}
	}
	slices.SortFunc(e.lexemes, func(a, b placedLexeme) int { return cmp.Compare(a.place, b.place) })
	last := len(e.lexemes) - 1
	if last < 0 || e.lexemes[last].text != "1" {
		return fmt.Errorf("no end in %s", vector)
	}
	e.places = e.lexemes[last].place - 1
	e.lexemes = slices.Clip(e.lexemes[:last])
	return nil
}

// place puts a term into the places of a text that it has, such as "2,7". What is no place
// is passed over.
func place(text []*termEntry, e *termEntry, places string) []*termEntry {
	for at := range strings.SplitSeq(places, ",") {
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 || n > positionMost {
			continue
		}
		for len(text) < n {
			text = append(text, nil)
		}
		text[n-1] = e
	}
	return text
}
