package crawl

// Rank is the last computed score of a domain or a page by its links.
type Rank struct {
	// Domains counts the registered domains that link to it.
	Domains int `json:"domains"`
	// Score is from 0 to 1; each 0.2 means ten times as much.
	Score float64 `json:"score"`
}

// RankedDomain is a domain and its score.
type RankedDomain struct {
	Domain string `json:"domain"`
	Rank
}

// RankedPage is a page and its score.
type RankedPage struct {
	ID int64
	Rank
}

// PageRanks holds the scores of the pages with ids in (After, Through]; a missing page has no
// score.
type PageRanks struct {
	After, Through int64
	Pages          []RankedPage
}

// IDs returns the ids of the pages.
func (p PageRanks) IDs() []int64 {
	ids := make([]int64, len(p.Pages))
	for i, r := range p.Pages {
		ids[i] = r.ID
	}
	return ids
}

// Anchors holds the texts of other domains' links to a page.
type Anchors struct {
	Page   int64
	Domain string
	Texts  []Anchor
}

// Anchor is the text of a link from a domain.
type Anchor struct{ Domain, Text string }

// AnchorTerms holds the terms of other domains' links to a page.
type AnchorTerms struct {
	Page  int64  `json:"page_id"`
	Terms string `json:"terms"`
}
