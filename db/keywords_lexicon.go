package db

import (
	"context"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// maxLexiconTerms bounds the terms in a lexicon, besides the terms of the current pages: some 8 MB.
const maxLexiconTerms = 50_000

// lexicon caches the stems of terms by Postgres' dictionaries, and drops terms that were not used
// recently. It is for one goroutine. The zero value is ready.
type lexicon struct {
	// recent has the recently used stems, earlier the older stems
	recent, earlier map[termIn][]string
}

// termIn is a term in a text search configuration.
type termIn struct{ config, term string }

// stems returns the stems of a term; empty for a stop word or an unknown term.
func (l *lexicon) stems(config, term string) []string {
	key := termIn{config, term}
	stems, known := l.recent[key]
	if !known {
		if stems, known = l.earlier[key]; known {
			l.store(key, stems)
		}
	}
	return stems
}

func (l *lexicon) store(key termIn, stems []string) {
	if l.recent == nil {
		l.recent = map[termIn][]string{}
	}
	key.term = strings.Clone(key.term)
	l.recent[key] = stems
}

func (l *lexicon) learn(ctx context.Context, q *dbsqlc.Queries, pages []crawl.IndexedPage) error {
	if len(l.recent) >= maxLexiconTerms/2 {
		l.earlier, l.recent = l.recent, nil
	}
	requested := map[termIn]bool{}
	var configs, terms []string
	for i := range pages {
		p := &pages[i]
		for _, text := range []string{p.Title, p.Headings, p.Description, p.Address, p.Anchors, p.Text} {
			for item := range strings.SplitSeq(text, " ") {
				term, _, _ := strings.Cut(item, ":")
				for _, config := range p.Configs {
					key := termIn{config, term}
					_, inRecent := l.recent[key]
					_, inEarlier := l.earlier[key]
					if term == "" || requested[key] || inRecent || inEarlier {
						continue
					}
					requested[key] = true
					configs, terms = append(configs, config), append(terms, term)
				}
			}
		}
	}
	stems, err := stemsOf(ctx, q, configs, terms)
	for i, found := range stems {
		l.store(termIn{configs[i], terms[i]}, found)
	}
	return err
}

// stemsOf returns the stems of terms. Postgres has a stemmer for each language, and a dictionary
// that keeps the terms of other languages.
func stemsOf(ctx context.Context, q *dbsqlc.Queries, configs, terms []string) ([][]string, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	dictionaries := mapRows(configs, func(config string) string {
		if config == "simple" {
			return config
		}
		return config + "_stem"
	})
	return q.Stems(ctx, dbsqlc.StemsParams{Dictionaries: dictionaries, Terms: terms})
}
