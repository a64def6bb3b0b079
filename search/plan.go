package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search/index"
)

// The weights of words in other forms, without umlauts, or joined, and of the parts of a name.
const (
	stemWeight    = 0.6
	variantWeight = 0.6
	partsWeight   = 0.3
	joinedWeight  = 0.8
)

// planner turns a parsed query into a query of the index.
type planner struct {
	view    index.View
	configs []string // of the languages of the index
	stems   map[configTerm][]string
}

type configTerm struct{ config, term string }

// plan returns the query. The stop words of language, which is the user's, are optional. An
// empty language means English.
func (p *planner) plan(ctx context.Context, q parsedQuery, language string) (index.Query, error) {
	var out index.Query
	termSet := map[string]bool{}
	for _, c := range append(slices.Concat(q.all...), q.not...) {
		if c.word() {
			for _, t := range variants(c.terms[0].Term) {
				termSet[t] = true
			}
		}
	}
	stopConfig := terms.Config(cmp.Or(language, "en"))
	if err := p.loadStems(ctx, slices.Sorted(maps.Keys(termSet)), stopConfig); err != nil {
		return out, err
	}
	required := false
	for _, list := range q.all {
		isWord := len(list) == 1 && list[0].word() && list[0].name() == ""
		stems, isKnown := p.stems[configTerm{stopConfig, list[0].terms[0].Term}]
		clause := index.Clause{Optional: isWord && isKnown && len(stems) == 0} // a stop word has no stems
		required = required || !clause.Optional
		for _, c := range list {
			clause.Any = append(clause.Any, p.atom(c, true))
		}
		out.Clauses = append(out.Clauses, clause)
	}
	for i := range out.Clauses {
		out.Clauses[i].Optional = out.Clauses[i].Optional && required
	}
	joined(q.all, out.Clauses)
	for _, c := range q.not {
		out.Not = append(out.Not, p.atom(c, false))
	}
	return out, nil
}

// joined adds the compound of two adjacent words to both: "light house" also matches "lighthouse".
func joined(all [][]chunk, clauses []index.Clause) {
	notLetter := func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M) }
	plain := func(i int) bool {
		return len(all[i]) == 1 && all[i][0].word() && !clauses[i].Optional && !strings.ContainsFunc(all[i][0].text, notLetter)
	}
	for i := 1; i < len(all); i++ {
		if !plain(i-1) || !plain(i) {
			continue
		}
		way := index.Variant{Keys: []string{index.Word(all[i-1][0].terms[0].Term + all[i][0].terms[0].Term)}, Weight: joinedWeight}
		for _, c := range clauses[i-1 : i+1] {
			c.Any[0].Variants = append(c.Any[0].Variants, way)
		}
	}
}

// loadStems looks up the stems of terms in all configurations and in the configuration extra.
func (p *planner) loadStems(ctx context.Context, list []string, extra string) error {
	configs := p.configs
	if !slices.Contains(configs, extra) {
		configs = append(slices.Clone(configs), extra)
	}
	var termList, of []string
	for _, term := range list {
		for _, config := range configs {
			if config != terms.Simple {
				termList, of = append(termList, config), append(of, term)
			}
		}
	}
	stems, err := p.view.Stems(ctx, termList, of)
	if err != nil {
		return err
	}
	p.stems = map[configTerm][]string{}
	for i, term := range of {
		p.stems[configTerm{termList[i], term}] = stems[i]
	}
	return nil
}

// atom returns the keys of a word or a phrase. If withForms is set, it adds other likely meanings.
func (p *planner) atom(c chunk, withForms bool) index.Atom {
	var a index.Atom
	if name := c.name(); name != "" {
		a.Variants = append(a.Variants, index.Variant{Keys: []string{index.Word(name)}, Weight: 1})
		if len(c.terms) == 1 {
			return a // "C++" is not "C"
		}
	}
	if !c.word() {
		w := index.Variant{Weight: 1, CountOnce: c.quoted}
		for i, t := range c.terms {
			after := -1
			if i > 0 {
				after = terms.BucketBefore(c.terms[i-1], t)
			}
			w.Keys, w.PrecedingBuckets = append(w.Keys, index.Word(t.Term)), append(w.PrecedingBuckets, after)
		}
		a.Variants = append(a.Variants, w)
		if parts := c.parts(); withForms && len(parts) > 1 && !c.quoted {
			all := index.Variant{Weight: partsWeight}
			for _, part := range parts {
				all.All = append(all.All, p.atom(part, true))
			}
			a.Variants = append(a.Variants, all)
		}
		return a
	}
	seen := map[string]bool{}
	add := func(key string, weight float32) {
		if !seen[key] {
			seen[key] = true
			a.Variants = append(a.Variants, index.Variant{Keys: []string{key}, Weight: weight})
		}
	}
	weight := float32(1)
	for _, term := range variants(c.terms[0].Term) {
		add(index.Word(term), weight)
		for _, config := range p.configs {
			for _, stem := range p.stems[configTerm{config, term}] {
				add(index.Stem(config, stem), weight*stemWeight)
			}
		}
		if !withForms {
			break
		}
		weight = variantWeight
	}
	return a
}

// umlauts replaces the spelling of umlauts on keyboards without them.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

// variants returns a term and another spelling that it may stand for.
func variants(term string) []string {
	if other := umlauts.Replace(term); other != term && len(term) > 3 {
		return []string{term, other}
	}
	return []string{term}
}

// configsOf returns the configurations of the pages in some segments.
func configsOf(segments []crawl.Segment) []string {
	all := map[string]bool{}
	for _, s := range segments {
		for _, tag := range s.Languages {
			all[terms.Config(tag)] = true
		}
	}
	delete(all, terms.Simple)
	return slices.Sorted(maps.Keys(all))
}
