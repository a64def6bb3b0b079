package crawl

// Rank is the worth of a domain or a page by who links to it, as computed last.
type Rank struct {
	// Domains counts the registered domains that link to it.
	Domains int `json:"domains"`
	// Score is from 0 to 1; each 0.2 is ten times as much.
	Score float64 `json:"score"`
}

// RankedDomain is a domain and what it is worth.
type RankedDomain struct {
	Domain string `json:"domain"`
	Rank
}

// RankedPage is a page and what it is worth.
type RankedPage struct {
	ID int64
	Rank
}

// PageRanks are the worth of the pages with ids in (After, Upto]; a page that is missing has none.
type PageRanks struct {
	After, Upto int64
	Pages       []RankedPage
}

// IDs are those of the pages that are worth something.
func (p PageRanks) IDs() []int64 {
	ids := make([]int64, len(p.Pages))
	for i, r := range p.Pages {
		ids[i] = r.ID
	}
	return ids
}

// Anchors are what other domains call a page of a domain.
type Anchors struct {
	Page   int64
	Domain string
	Said   []Anchor
}

// Anchor is the text of a link from a domain.
type Anchor struct{ Domain, Text string }

// AnchorTerms are the terms of what others call a page.
type AnchorTerms struct {
	Page  int64  `json:"page_id"`
	Terms string `json:"terms"`
}
