package search

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/rank"
	"github.com/mosey-web/mosey/internal/terms"
)

const (
	// linksPerReport is the number of links between two reports of progress.
	linksPerReport = 10_000
	// ranksPerTransaction is the number of ranks that one transaction stores.
	ranksPerTransaction = 2_000
)

// RankStore reads the links and stores the ranks. *db.Store implements it.
type RankStore interface {
	CountedLinks(ctx context.Context, yield func(from, to string, page int64)) error
	StoreDomainRanks(ctx context.Context, ranks []crawl.RankedDomain) (changed int, err error)
	DropDomainRanks(ctx context.Context, isKnown func(domain string) bool) (dropped int, err error)
	StorePageRanks(ctx context.Context, ranks crawl.PageRanks) (changed, moved int, err error)
	Anchors(ctx context.Context, ranks crawl.PageRanks) ([]crawl.Anchors, error)
	StoreAnchors(ctx context.Context, terms []crawl.AnchorTerms) (changed int, err error)
	UpdateSegmentScores(ctx context.Context, after int64) (segment int64, pages int, err error)
}

// Rank computes and stores the scores of domains and pages by their inlinks (PageRank of the
// registered domains). It determines the order of search results and of the crawl. Rank also adds
// the texts of links to the keywords of their target pages. It may run during crawls, and may be
// stopped and restarted at any time. It calls progress often.
func Rank(ctx context.Context, store RankStore, progress func(report.Ranks)) (report.Ranks, error) {
	r := ranking{store: store, progress: progress}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"reading links", r.read},
		{"computing", r.compute},
		{"storing domains", r.domains},
		{"storing pages", r.pages},
		{"ranking pages found", r.findPages},
	} {
		r.rep.Step = step.name
		if err := step.do(ctx); err != nil {
			return r.rep, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	r.rep.Step = ""
	return r.rep, nil
}

type ranking struct {
	store    RankStore
	progress func(report.Ranks)
	rep      report.Ranks
	graph    *rank.Graph
	ranks    rank.Ranks
}

func (r *ranking) report(done, of int64) {
	r.rep.Done, r.rep.Total = done, of
	r.progress(r.rep)
}

func (r *ranking) read(ctx context.Context) error {
	r.graph = rank.New()
	return r.store.CountedLinks(ctx, func(from, to string, page int64) {
		if r.rep.Links++; r.rep.Links%linksPerReport == 0 {
			r.report(r.rep.Links, 0)
		}
		r.graph.Add(from, to, page)
	})
}

func (r *ranking) compute(ctx context.Context) error {
	r.report(0, 0)
	r.ranks = r.graph.Rank()
	r.graph = nil
	r.rep.Domains, r.rep.Pages, r.rep.Pairs = int64(len(r.ranks.Domains)), int64(len(r.ranks.Pages)), int64(r.ranks.Links)
	r.rep.Rounds = r.ranks.Rounds
	return ctx.Err()
}

func (r *ranking) domains(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(r.ranks.Domains))
	done := 0
	for some := range slices.Chunk(names, ranksPerTransaction) {
		ranks := make([]crawl.RankedDomain, len(some))
		for i, name := range some {
			ranks[i] = crawl.RankedDomain{Domain: name, Rank: r.ranks.Domains[name]}
		}
		changed, err := r.store.StoreDomainRanks(ctx, ranks)
		if err != nil {
			return err
		}
		r.rep.Changed += int64(changed)
		done += len(some)
		r.report(int64(done), int64(len(names)))
	}
	dropped, err := r.store.DropDomainRanks(ctx, func(domain string) bool {
		_, known := r.ranks.Domains[domain]
		return known
	})
	r.rep.Changed += int64(dropped)
	return err
}

// pages stores the ranks of pages, and the texts of links to them.
func (r *ranking) pages(ctx context.Context) error {
	all, after := r.ranks.Pages, int64(0)
	for begin := 0; ; begin += ranksPerTransaction {
		end := min(begin+ranksPerTransaction, len(all))
		ranks := crawl.PageRanks{After: after, Through: math.MaxInt64, Pages: all[begin:end]}
		if end < len(all) {
			ranks.Through = all[end-1].ID
		}
		changed, moved, err := r.store.StorePageRanks(ctx, ranks)
		if err != nil {
			return err
		}
		r.rep.Changed, r.rep.Reprioritized = r.rep.Changed+int64(changed), r.rep.Reprioritized+int64(moved)
		anchorsChanged, err := fold(ctx, r.store, ranks)
		r.rep.AnchorsChanged += int64(anchorsChanged)
		if err != nil {
			return err
		}
		r.report(int64(end), int64(len(all)))
		if end == len(all) {
			return nil
		}
		after = ranks.Through
	}
}

// fold updates the terms of other domains' links to pages, and returns the number of changed pages.
func fold(ctx context.Context, store RankStore, ranks ...crawl.PageRanks) (changed int, err error) {
	var folded []crawl.AnchorTerms
	for _, some := range ranks {
		all, err := store.Anchors(ctx, some)
		if err != nil {
			return 0, err
		}
		for _, a := range all {
			folded = append(folded, crawl.AnchorTerms{Page: a.Page, Terms: termsOf(a)})
		}
	}
	return store.StoreAnchors(ctx, folded)
}

// Refold updates the terms of other domains' links to pages. It returns the number of changed
// pages.
func Refold(ctx context.Context, store RankStore, pages []int64) (changed int, err error) {
	ranks := make([]crawl.PageRanks, len(pages))
	for i, page := range pages {
		ranks[i] = crawl.PageRanks{After: page - 1, Through: page}
	}
	return fold(ctx, store, ranks...)
}

// termsOf returns the terms of links to a page from other registered domains.
func termsOf(a crawl.Anchors) string {
	own, seen, texts := urls.Registered(a.Domain), map[crawl.Anchor]bool{}, map[string]int{}
	for _, anchor := range a.Texts {
		anchor.Domain = urls.Registered(anchor.Domain)
		if anchor.Domain != own && !seen[anchor] {
			seen[anchor] = true
			texts[anchor.Text]++
		}
	}
	return terms.Anchors(texts)
}

func (r *ranking) findPages(ctx context.Context) error {
	r.report(0, 0)
	for after := int64(0); ; {
		segment, pages, err := r.store.UpdateSegmentScores(ctx, after)
		if err != nil || segment == 0 {
			return err
		}
		r.report(r.rep.Done+int64(pages), 0)
		after = segment
	}
}
