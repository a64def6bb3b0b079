// Package rank scores domains and pages from the links to them.
//
// The score of a domain derives from its PageRank in the graph of registered domains (Page, Brin,
// Motwani and Winograd, "The PageRank Citation Ranking", 1999). Each domain shares its PageRank
// equally among its linked domains, however many links and hosts it has. A farm of subdomains, or a
// link in the footer of every page, thus counts once. A domain's share for another domain passes to
// its linked pages there, in equal parts.
//
// Scores are from 0 to 1, and comparable over time and between graphs of any size. A domain without
// inlinks has 0. Each further 0.2 means ten times the PageRank.
package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// damping is the share of its PageRank that a domain passes on. All domains share the rest.
	damping = 0.85
	// The iteration ends after maxRounds rounds, or if a round changes less than minChange of the
	// PageRank.
	maxRounds = 100
	minChange = 1e-6
	// decades is the number of factors of ten in a score of 1.
	decades = 5
)

// Graph holds the links between domains.
type Graph struct {
	hosts map[string]uint32 // the registered domain of each domain
	nodes map[string]uint32
	edges []edge
}

// edge is a link from a registered domain to a page of another.
type edge struct {
	from, to uint32
	page     int64
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{hosts: make(map[string]uint32), nodes: make(map[string]uint32)}
}

// Add adds a link from a domain to a page of another. A link within one registered domain does not
// count, but adds the domains to the graph.
func (g *Graph) Add(from, to string, page int64) {
	a, b := g.node(from), g.node(to)
	if a != b {
		g.edges = append(g.edges, edge{from: a, to: b, page: page})
	}
}

func (g *Graph) node(domain string) uint32 {
	if n, known := g.hosts[domain]; known {
		return n
	}
	registered := urls.Registered(domain)
	n, known := g.nodes[registered]
	if !known {
		n = uint32(len(g.nodes)) //nolint:gosec // memory ends first
		g.nodes[registered] = n
	}
	g.hosts[domain] = n
	return n
}

// Ranks holds the ranks of a graph.
type Ranks struct {
	// Domains has the ranks of all domains in the graph.
	Domains map[string]crawl.Rank
	// Pages are the pages with links from another domain, in the order of their ids.
	Pages []crawl.RankedPage
	// Links counts the linked pairs of registered domains, and Rounds the rounds of the iteration.
	Links, Rounds int
}

// Rank computes the ranks and empties the graph.
func (g *Graph) Rank() Ranks {
	edges := g.edges
	g.edges = nil
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.page, b.page))
	})
	edges = slices.Compact(edges)
	pairs := pairsOf(edges)
	scores, minScore, rounds := iterate(pairs, len(g.nodes))
	scale := func(w float64) float64 { return math.Min(math.Log10(1+w/minScore)/decades, 1) }

	inlinks := make([]int, len(g.nodes))
	for _, p := range pairs {
		inlinks[p.to]++
	}
	r := Ranks{Domains: make(map[string]crawl.Rank, len(g.hosts)), Links: len(pairs), Rounds: rounds}
	for host, n := range g.hosts {
		r.Domains[host] = crawl.Rank{Domains: inlinks[n], Score: scale(max(scores[n]-minScore, 0))}
	}
	r.Pages = pagesOf(edges, pairs, scores)
	for i, p := range r.Pages {
		r.Pages[i].Score = scale(p.Score)
	}
	return r
}

// pair is a link between domains. Its edges begin at first, and out counts from's target domains.
type pair struct {
	from, to uint32
	first    int
	out      uint32
}

func pairsOf(edges []edge) []pair {
	var pairs []pair
	begin := 0 // of the pairs with the same from
	for i, e := range edges {
		if i == 0 || e.from != edges[i-1].from || e.to != edges[i-1].to {
			pairs = append(pairs, pair{from: e.from, to: e.to, first: i})
		}
		if i+1 == len(edges) || e.from != edges[i+1].from {
			for n := begin; n < len(pairs); n++ {
				pairs[n].out = uint32(len(pairs) - begin) //nolint:gosec // less than there are nodes
			}
			begin = len(pairs)
		}
	}
	return pairs
}

// iterate returns the PageRank of each node, and of a node without links to it. The mean is 1.
func iterate(pairs []pair, nodes int) (scores []float64, minScore float64, rounds int) {
	scores, next := slices.Repeat([]float64{1}, nodes), make([]float64, nodes)
	linking := make([]bool, nodes)
	for _, p := range pairs {
		linking[p.from] = true
	}
	minScore = 1
	for rounds < maxRounds {
		rounds++
		var danglingScore float64 // the PageRank of domains without links, shared by all domains
		for i, w := range scores {
			if !linking[i] {
				danglingScore += w
			}
		}
		minScore = 1 - damping + damping*danglingScore/float64(max(nodes, 1))
		for i := range next {
			next[i] = minScore
		}
		for _, p := range pairs {
			next[p.to] += damping * scores[p.from] / float64(p.out)
		}
		var change float64
		for i := range next {
			change += math.Abs(next[i] - scores[i])
		}
		scores, next = next, scores
		if change < minChange*float64(nodes) {
			break
		}
	}
	return scores, minScore, rounds
}

func pagesOf(edges []edge, pairs []pair, scores []float64) []crawl.RankedPage {
	candidates := make([]crawl.RankedPage, len(edges))
	for i, p := range pairs {
		end := len(edges)
		if i+1 < len(pairs) {
			end = pairs[i+1].first
		}
		each := damping * scores[p.from] / float64(p.out) / float64(end-p.first)
		for j := p.first; j < end; j++ {
			candidates[j] = crawl.RankedPage{ID: edges[j].page, Rank: crawl.Rank{Domains: 1, Score: each}}
		}
	}
	slices.SortFunc(candidates, func(a, b crawl.RankedPage) int { return cmp.Compare(a.ID, b.ID) })
	pages := candidates[:0]
	for _, g := range candidates {
		if last := len(pages) - 1; last >= 0 && pages[last].ID == g.ID {
			pages[last].Domains++
			pages[last].Score += g.Score
			continue
		}
		pages = append(pages, g)
	}
	return pages
}
