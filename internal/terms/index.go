package terms

import (
	"sync"

	"github.com/mosey-web/mosey/crawl"
)

// How many terms of a page are kept. A position in a tsvector is 16,383 at the most, and
// the batch that adds what others call a page needs some of them.
const (
	titleTerms       = 100
	headingTerms     = 900
	descriptionTerms = 200
	textTerms        = 14_800
)

// Page is the texts by which a page is found.
type Page struct {
	// Language is a tag of BCP 47; empty is undetermined.
	Language string

	Title, Headings, Description, Text string
}

var cutters = sync.Pool{New: func() any { return new(Cutter) }}

// Index is what a page is found by.
func Index(p Page) *crawl.Index {
	c, _ := cutters.Get().(*Cutter) // there is nothing else
	defer cutters.Put(c)
	cut := func(text string, limit int) string {
		out, _ := c.Cut(nil, text, limit)
		return string(out)
	}
	return &crawl.Index{
		Config: Config(p.Language), Title: cut(p.Title, titleTerms), Headings: cut(p.Headings, headingTerms),
		Description: cut(p.Description, descriptionTerms), Text: cut(p.Text, textTerms),
	}
}
