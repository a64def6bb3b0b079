package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// damping is the share of its worth that a domain gives on; the rest goes to
	// all domains, in equal parts.
	damping = 0.85
	// roundsMost bounds the iteration, which ends where a round changes less than
	// changeLeast of all that there is.
	roundsMost  = 100
	changeLeast = 1e-6
	// decades is how many factors of ten make a score of 1.
	decades = 5
)

// Graph is links between domains. The zero value is not ready: see New.
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

// New makes an empty graph.
func New() *Graph {
	return &Graph{hosts: make(map[string]uint32), nodes: make(map[string]uint32)}
}

// Add adds a link from a page of a domain to a page of another. Those within one
// registered domain make both known, and count for nothing.
func (g *Graph) Add(from, to string, page int64) {
	a, b := g.node(from), g.node(to)
	if a != b {
		g.edges = append(g.edges, edge{from: a, to: b, page: page})
	}
}

// node is that of a domain's registered domain.
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

// Score is what a domain or a page is worth.
type Score struct {
	// Inlinks counts the registered domains that link to it.
	Inlinks int
	Score   float64
}

// PageScore is that of a page.
type PageScore struct {
	Page int64
	Score
}

// Ranks are the scores of a graph.
type Ranks struct {
	// Domains has all that were named, by their domain.
	Domains map[string]Score
	// Pages are those that another domain links to, in the order of their ids.
	Pages []PageScore
	// Links counts the links between registered domains, each pair once, and Rounds those
	// of the iteration.
	Links, Rounds int
}

// Rank computes the scores, and empties the graph.
func (g *Graph) Rank() Ranks {
	edges := g.edges
	g.edges = nil
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.page, b.page))
	})
	edges = slices.Compact(edges)
	pairs := pairsOf(edges)
	worth, least, rounds := iterate(pairs, len(g.nodes))
	scale := func(w float64) float64 { return math.Min(math.Log10(1+w/least)/decades, 1) }

	inlinks := make([]int, len(g.nodes))
	for _, p := range pairs {
		inlinks[p.to]++
	}
	r := Ranks{Domains: make(map[string]Score, len(g.hosts)), Links: len(pairs), Rounds: rounds}
	for host, n := range g.hosts {
		r.Domains[host] = Score{inlinks[n], scale(max(worth[n]-least, 0))}
	}
	r.Pages = pagesOf(edges, pairs, worth)
	for i, p := range r.Pages {
		r.Pages[i].Score.Score = scale(p.Score.Score)
	}
	return r
}

// pair is a domain that links to another: its edges begin at first, and out is to how many
// domains it links.
type pair struct {
	from, to uint32
	first    int
	out      uint32
}

func pairsOf(edges []edge) []pair {
	var pairs []pair
	begin := 0
	for i, e := range edges {
		if i > 0 && e.from == edges[i-1].from && e.to == edges[i-1].to {
			continue
		}
		if i > 0 && e.from != edges[i-1].from {
			count(pairs[begin:])
			begin = len(pairs)
		}
		pairs = append(pairs, pair{from: e.from, to: e.to, first: i})
	}
	count(pairs[begin:])
	return pairs
}

func count(ofOne []pair) {
	for i := range ofOne {
		ofOne[i].out = uint32(len(ofOne)) //nolint:gosec // less than there are nodes
	}
}

// iterate returns the worth of each node, and of a node without links to it; the mean is
// 1.
func iterate(pairs []pair, nodes int) (worth []float64, least float64, rounds int) {
	worth, next := make([]float64, nodes), make([]float64, nodes)
	linking := make([]bool, nodes)
	for _, p := range pairs {
		linking[p.from] = true
	}
	for i := range worth {
		worth[i] = 1
	}
	least = 1
	for rounds < roundsMost {
		rounds++
		var silent float64 // what those have who link to nobody: everybody's, too
		for i, w := range worth {
			if !linking[i] {
				silent += w
			}
		}
		least = 1 - damping + damping*silent/float64(max(nodes, 1))
		for i := range next {
			next[i] = least
		}
		for _, p := range pairs {
			next[p.to] += damping * worth[p.from] / float64(p.out)
		}
		var change float64
		for i := range next {
			change += math.Abs(next[i] - worth[i])
		}
		worth, next = next, worth
		if change < changeLeast*float64(nodes) {
			break
		}
	}
	return worth, least, rounds
}

// pagesOf is what pages are given. It reorders the edges.
func pagesOf(edges []edge, pairs []pair, worth []float64) []PageScore {
	given := make([]PageScore, len(edges))
	for i, p := range pairs {
		end := len(edges)
		if i+1 < len(pairs) {
			end = pairs[i+1].first
		}
		each := damping * worth[p.from] / float64(p.out) / float64(end-p.first)
		for j := p.first; j < end; j++ {
			given[j] = PageScore{edges[j].page, Score{1, each}}
		}
	}
	slices.SortFunc(given, func(a, b PageScore) int { return cmp.Compare(a.Page, b.Page) })
	pages := given[:0]
	for _, g := range given {
		if last := len(pages) - 1; last >= 0 && pages[last].Page == g.Page {
			pages[last].Inlinks++
			pages[last].Score.Score += g.Score.Score
			continue
		}
		pages = append(pages, g)
	}
	return pages
}
