package terms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// lexiconMost is how many terms a Lexicon holds, but for those of the pages it is used for
// just now: some 15 MB.
const lexiconMost = 100_000

// Lexicon remembers what terms are in Postgres' index: their lexemes, as to_tsvector makes
// them. Terms that are not asked for any more are forgotten. It is for one goroutine. The
// zero value is ready.
type Lexicon struct {
	// young holds what was asked for lately, old what was before that; both by
	// configuration and term.
	young, old map[string]map[string]lexemes
	size       int // of young
}

// lexemes are what a term is in the index: most are one, a stop word none.
type lexemes struct {
	one string // of a term that is a single one
	// more is in place of one, and places is how many places the term takes.
	more   []placed
	places int
}

// placed is a lexeme with its place in a term, from 1 on.
type placed struct {
	word  string
	place int
}

// find returns what a term is, if that is known.
func (l *Lexicon) find(config, term string) (lexemes, bool) {
	if x, known := l.young[config][term]; known {
		return x, true
	}
	x, known := l.old[config][term]
	if known {
		l.keep(config, term, x)
	}
	return x, known
}

func (l *Lexicon) keep(config, term string, x lexemes) {
	if l.young == nil {
		l.young = map[string]map[string]lexemes{}
	}
	of := l.young[config]
	if of == nil {
		of = map[string]lexemes{}
		l.young[config] = of
	}
	of[strings.Clone(term)] = x
	l.size++
}

// Missing are the terms of pages that are not known, a configuration and a term each. What
// is known is not forgotten before the next call.
func (l *Lexicon) Missing(pages []Document) (configs, missing []string) {
	if l.size >= lexiconMost/2 {
		l.old, l.young, l.size = l.young, nil, 0
	}
	seen := map[[2]string]bool{}
	for _, p := range pages {
		for _, zone := range p.zones() {
			for term := range strings.SplitSeq(zone, " ") {
				if term == "" {
					continue
				}
				key := [2]string{p.Config, term}
				if _, known := l.find(p.Config, term); known || seen[key] {
					continue
				}
				seen[key] = true
				configs, missing = append(configs, p.Config), append(missing, term)
			}
		}
	}
	return configs, missing
}

// Learn takes what Missing has returned, with the tsvector that each term is, as text.
func (l *Lexicon) Learn(configs, terms, vectors []string) error {
	if len(vectors) != len(terms) {
		return fmt.Errorf("%d terms of the index for %d", len(vectors), len(terms))
	}
	for i, vector := range vectors {
		x, err := readLexemes(vector)
		if err != nil {
			return fmt.Errorf("read what %q is in the index: %w", terms[i], err)
		}
		l.keep(configs[i], terms[i], x)
	}
	return nil
}

// readLexemes reads what keywords_lexemes of the database returns: a tsvector such as
// 'co2':1 'emission':2 and, after the term, '1':3.
func readLexemes(vector string) (lexemes, error) {
	var v pgtype.TSVector
	if err := v.Scan(vector); err != nil {
		return lexemes{}, err
	}
	var x lexemes
	for _, l := range v.Lexemes {
		for _, at := range l.Positions {
			x.more = append(x.more, placed{l.Word, int(at.Position)})
		}
	}
	slices.SortFunc(x.more, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	if len(x.more) == 0 || x.more[len(x.more)-1].word != "1" {
		return lexemes{}, fmt.Errorf("no end in %s", vector)
	}
	x.places = x.more[len(x.more)-1].place - 1
	if x.more = x.more[:len(x.more)-1]; len(x.more) == 1 && x.places == 1 {
		return lexemes{one: x.more[0].word, places: 1}, nil
	}
	return x, nil
}
