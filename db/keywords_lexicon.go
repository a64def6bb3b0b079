package db

import (
	"context"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// lexiconMost is how many terms a lexicon holds, but for those of the pages it is used for
// just now: some 8 MB.
const lexiconMost = 50_000

// lexicon remembers the stems of terms, as Postgres' dictionaries make them. Terms that are
// not asked for any more are forgotten. It is for one goroutine. The zero value is ready.
type lexicon struct {
	// young holds what was asked for lately, old what was before that: stems by
	// configuration and term
	young, old map[string]map[string][]string
	size       int
}

// stems are those of a term; none of a stop word, or where the term was not learned.
func (l *lexicon) stems(config, term string) []string {
	stems, known := l.young[config][term]
	if !known {
		if stems, known = l.old[config][term]; known {
			l.keep(config, term, stems)
		}
	}
	return stems
}

func (l *lexicon) knows(config, term string) bool {
	if _, known := l.young[config][term]; known {
		return true
	}
	_, known := l.old[config][term]
	return known
}

func (l *lexicon) keep(config, term string, stems []string) {
	if l.young == nil {
		l.young = map[string]map[string][]string{}
	}
	if l.young[config] == nil {
		l.young[config] = map[string][]string{}
	}
	l.young[config][strings.Clone(term)] = stems
	l.size++
}

// learn has the lexicon know all terms of some pages.
func (l *lexicon) learn(ctx context.Context, q *dbsqlc.Queries, pages []crawl.IndexedPage) error {
	if l.size >= lexiconMost/2 {
		l.old, l.young, l.size = l.young, nil, 0
	}
	asked := map[string]map[string]bool{}
	var configs, terms []string
	for i := range pages {
		p := &pages[i]
		for _, text := range []string{p.Title, p.Headings, p.Description, p.Address, p.Anchors, p.Text} {
			for item := range strings.SplitSeq(text, " ") {
				term, _, _ := strings.Cut(item, ":")
				for _, config := range p.Configs {
					if term == "" || asked[config][term] || l.knows(config, term) {
						continue
					}
					if asked[config] == nil {
						asked[config] = map[string]bool{}
					}
					asked[config][term] = true
					configs, terms = append(configs, config), append(terms, term)
				}
			}
		}
	}
	stems, err := stemsOf(ctx, q, configs, terms)
	for i, found := range stems {
		l.keep(configs[i], terms[i], found)
	}
	return err
}

// stemsOf asks for the stems of terms.
func stemsOf(ctx context.Context, q *dbsqlc.Queries, configs, terms []string) ([][]string, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	dictionaries := make([]string, len(configs))
	for i, config := range configs {
		dictionaries[i] = dictionaryOf(config)
	}
	return q.Stems(ctx, dbsqlc.StemsParams{Dictionaries: dictionaries, Terms: terms})
}

// dictionaryOf is the dictionary of a text search configuration: Postgres has a stemmer for
// each language, and for the others one that takes terms as they are.
func dictionaryOf(config string) string {
	if config == "simple" {
		return config
	}
	return config + "_stem"
}
