package db

import (
	"context"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// lexiconMost bounds the terms in a lexicon, besides the terms of the current pages: some 8 MB.
const lexiconMost = 50_000

// lexicon caches the stems of terms by Postgres' dictionaries, and drops terms that were not used
// lately. It is for one goroutine. The zero value is ready.
type lexicon struct {
	// young has the recently used stems, old the earlier ones
	young, old map[termIn][]string
}

// termIn is a term in a text search configuration.
type termIn struct{ config, term string }

// stems returns the stems of a term; empty for a stop word or an unknown term.
func (l *lexicon) stems(config, term string) []string {
	of := termIn{config, term}
	stems, known := l.young[of]
	if !known {
		if stems, known = l.old[of]; known {
			l.keep(of, stems)
		}
	}
	return stems
}

func (l *lexicon) knows(of termIn) bool {
	_, young := l.young[of]
	_, old := l.old[of]
	return young || old
}

func (l *lexicon) keep(of termIn, stems []string) {
	if l.young == nil {
		l.young = map[termIn][]string{}
	}
	of.term = strings.Clone(of.term)
	l.young[of] = stems
}

func (l *lexicon) learn(ctx context.Context, q *dbsqlc.Queries, pages []crawl.IndexedPage) error {
	if len(l.young) >= lexiconMost/2 {
		l.old, l.young = l.young, nil
	}
	asked := map[termIn]bool{}
	var configs, terms []string
	for i := range pages {
		p := &pages[i]
		for _, text := range []string{p.Title, p.Headings, p.Description, p.Address, p.Anchors, p.Text} {
			for item := range strings.SplitSeq(text, " ") {
				term, _, _ := strings.Cut(item, ":")
				for _, config := range p.Configs {
					of := termIn{config, term}
					if term == "" || asked[of] || l.knows(of) {
						continue
					}
					asked[of] = true
					configs, terms = append(configs, config), append(terms, term)
				}
			}
		}
	}
	stems, err := stemsOf(ctx, q, configs, terms)
	for i, found := range stems {
		l.keep(termIn{configs[i], terms[i]}, found)
	}
	return err
}

// stemsOf returns the stems of terms. Postgres has a stemmer for each language, and a dictionary
// that keeps the terms of other languages.
func stemsOf(ctx context.Context, q *dbsqlc.Queries, configs, terms []string) ([][]string, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	dictionaries := mapped(configs, func(config string) string {
		if config == "simple" {
			return config
		}
		return config + "_stem"
	})
	return q.Stems(ctx, dbsqlc.StemsParams{Dictionaries: dictionaries, Terms: terms})
}
