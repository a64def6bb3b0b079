package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/terms"
)

const (
	// TextBytesMax caps Query.Text, in bytes.
	TextBytesMax = 1000
	// termsMax is how many terms of a query count.
	termsMax = 32
)

// parsed is a query in the terms of the index.
type parsed struct {
	terms, loose, prefixes []string
	left                   int
	cutter                 terms.Cutter
}

// parse reads what somebody has typed.
func parse(text string) (report.SearchQuery, error) {
	if len(text) > TextBytesMax {
		return report.SearchQuery{}, fmt.Errorf("%w: a query of %d bytes: at most %d are read", crawl.ErrInvalid, len(text), TextBytesMax)
	}
	p := parsed{left: termsMax, cutter: terms.Cutter{Whole: true}}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		not := false
		if after, minus := strings.CutPrefix(rest, "-"); minus && after != "" {
			rest, not = after, true
		}
		var chunk string
		if after, quoted := strings.CutPrefix(rest, `"`); quoted {
			chunk, rest, _ = strings.Cut(after, `"`)
			p.add(chunk, not, true)
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
		if end < 0 {
			end = len(rest)
		}
		if end == 0 { // a quote after a minus and another
			_, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			continue
		}
		chunk, rest = rest[:end], rest[end:]
		if !not && strings.EqualFold(chunk, "or") {
			p.or()
			continue
		}
		p.add(chunk, not, false)
	}
	p.terms, p.loose = trimOr(p.terms), trimOr(p.loose)
	if len(p.loose) == 0 {
		return report.SearchQuery{}, fmt.Errorf("%w: the query %q has no word to look for: give at least one without a minus",
			crawl.ErrInvalid, text)
	}
	return report.SearchQuery{
		Terms: strings.Join(p.terms, " "), Loose: strings.Join(p.loose, " "), Prefixes: p.prefixes,
	}, nil
}

// add adds a phrase, or a word that may be several terms.
func (p *parsed) add(chunk string, not, quoted bool) {
	cut, n := p.cutter.Cut(nil, chunk, p.left)
	if n == 0 {
		return
	}
	p.left -= n
	list := strings.Fields(string(cut))
	for _, term := range list {
		if terms.Paired(term) && !slices.Contains(p.prefixes, term) {
			p.prefixes = append(p.prefixes, term)
		}
	}
	text := string(cut)
	if len(list) > 1 || quoted || text == "or" {
		text = `"` + text + `"`
	}
	if not {
		p.terms = append(p.terms, "-"+text)
		return
	}
	p.terms = append(p.terms, text)
	for _, term := range list {
		if term == "or" {
			term = `"or"`
		}
		p.loose = append(p.loose, term)
	}
}

// or adds the operator, which is one between two terms only.
func (p *parsed) or() {
	if len(p.terms) > 0 {
		p.terms, p.loose = append(p.terms, "or"), append(p.loose, "or")
	}
}

// trimOr leaves out operators that have nothing to stand between.
func trimOr(list []string) []string {
	for len(list) > 0 && list[len(list)-1] == "or" {
		list = list[:len(list)-1]
	}
	for len(list) > 0 && list[0] == "or" {
		list = list[1:]
	}
	return slices.CompactFunc(list, func(a, b string) bool { return a == "or" && b == "or" })
}
