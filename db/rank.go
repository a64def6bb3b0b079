package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/internal/rank"
	"github.com/mosey-web/mosey/internal/terms"
)

const (
	// rankRead is of how many pages links are read at once, and rankStored how many ranks
	// are stored in one transaction.
	rankRead   = 50_000
	rankStored = 10_000
	// rankFolded is how many pages are given what others call them in one transaction: it
	// holds their rows, which a crawl may have to write.
	rankFolded = 50
)

// notCounted marks links that say nothing of what their page's publisher thinks of what
// they lead to.
const notCounted = crawl.RelUGC | crawl.RelSponsored | crawl.RelAlternate

// Rank computes what domains and pages are worth by who links to them (package rank), and
// stores it: for searches, for the order in which pages and domains are crawled, and with
// what others call a page among what it is found by. It can be ended at any time and
// begun again, beside crawls. progress is called from time to time.
func (s *Store) Rank(ctx context.Context, progress func(crawl.RankReport)) (crawl.RankReport, error) {
	r := ranking{Store: s, progress: progress}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"reading links", r.read},
		{"computing", r.compute},
		{"storing domains", r.storeDomains},
		{"storing pages", r.storePages},
		{"ranking what is found", r.rankKeywords},
	} {
		r.rep.Step = step.name
		if err := step.do(ctx); err != nil {
			return r.rep, fmt.Errorf("rank: %s: %w", step.name, err)
		}
	}
	r.rep.Step = ""
	return r.rep, nil
}

type ranking struct {
	*Store

	progress func(crawl.RankReport)
	told     time.Time
	rep      crawl.RankReport
	graph    *rank.Graph
	ranks    rank.Ranks
}

// rankTold is how often progress is told.
const rankTold = time.Second

func (r *ranking) tell(done, of int64) {
	r.rep.Done, r.rep.Of = done, of
	if now := time.Now(); now.Sub(r.told) >= rankTold {
		r.told = now
		r.progress(r.rep)
	}
}

func (r *ranking) read(ctx context.Context) error {
	r.graph = rank.New()
	last, err := r.q.RankLinksEnd(ctx)
	for at := int64(0); at < last && err == nil; at += rankRead {
		var links []dbsqlc.RankLinksRow
		links, err = r.q.RankLinks(ctx, dbsqlc.RankLinksParams{After: at, Upto: at + rankRead, Rel: int32(notCounted)})
		for _, l := range links {
			r.graph.Add(l.FromDomain, l.ToDomain, l.ToPageID)
		}
		r.rep.Links += int64(len(links))
		r.tell(min(at+rankRead, last), last)
	}
	return err
}

func (r *ranking) compute(ctx context.Context) error {
	r.ranks = r.graph.Rank()
	r.graph = nil
	r.rep.Domains, r.rep.Pages, r.rep.Pairs = int64(len(r.ranks.Domains)), int64(len(r.ranks.Pages)), int64(r.ranks.Links)
	r.rep.Rounds = r.ranks.Rounds
	return ctx.Err()
}

func (r *ranking) storeDomains(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(r.ranks.Domains))
	for begin := 0; begin < len(names); begin += rankStored {
		p := dbsqlc.RankDomainsParams{Domains: names[begin:min(begin+rankStored, len(names))]}
		for _, name := range p.Domains {
			score := r.ranks.Domains[name]
			p.Inlinks, p.Scores = append(p.Inlinks, inlinks(score)), append(p.Scores, float32(score.Score))
		}
		changed, err := retryConflicts(ctx, "store ranks", func() (int32, error) { return r.q.RankDomains(ctx, p) })
		if err != nil {
			return err
		}
		r.rep.Changed += int64(changed)
		r.tell(int64(begin), int64(len(names)))
	}
	gone, err := retryConflicts(ctx, "store ranks", func() (int32, error) { return r.q.RankDomainsGone(ctx, names) })
	r.rep.Changed += int64(gone)
	return err
}

func inlinks(s rank.Score) int32 { return int32(min(s.Inlinks, math.MaxInt32)) } //nolint:gosec // bounded

// storePages stores the ranks of pages, and what others call them.
func (r *ranking) storePages(ctx context.Context) error {
	pages, after := r.ranks.Pages, int64(0)
	for begin := 0; ; begin += rankStored {
		end := min(begin+rankStored, len(pages))
		p := dbsqlc.RankPagesParams{After: after, Upto: math.MaxInt64}
		if end < len(pages) {
			p.Upto = pages[end-1].Page
		}
		for _, page := range pages[begin:end] {
			p.Pages, p.Inlinks = append(p.Pages, page.Page), append(p.Inlinks, inlinks(page.Score))
			p.Scores = append(p.Scores, float32(page.Score.Score))
		}
		if err := r.storeSome(ctx, p); err != nil {
			return err
		}
		r.tell(int64(end), int64(len(pages)))
		if end == len(pages) {
			return nil
		}
		after = p.Upto
	}
}

func (r *ranking) storeSome(ctx context.Context, p dbsqlc.RankPagesParams) error {
	if p.Pages == nil {
		p.Pages, p.Inlinks, p.Scores = []int64{}, []int32{}, []float32{}
	}
	changed, err := retryConflicts(ctx, "store ranks", func() (int32, error) { return r.q.RankPages(ctx, p) })
	if err != nil {
		return err
	}
	moved, err := retryConflicts(ctx, "store ranks", func() (int32, error) { return r.q.RankRaisePages(ctx, p.Pages) })
	if err != nil {
		return err
	}
	r.rep.Changed, r.rep.Moved = r.rep.Changed+int64(changed), r.rep.Moved+int64(moved)
	return r.fold(ctx, p)
}

// folded is what anchors_fold takes.
type folded struct {
	Page  int64  `json:"page_id"`
	Terms string `json:"terms"`
}

// fold gives pages what others call them.
func (r *ranking) fold(ctx context.Context, p dbsqlc.RankPagesParams) error {
	rows, err := r.q.RankAnchors(ctx, dbsqlc.RankAnchorsParams{Rel: int32(notCounted), After: p.After, Upto: p.Upto, Pages: p.Pages})
	if err != nil {
		return err
	}
	var all []folded
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].PageID == rows[0].PageID {
			n++
		}
		all, rows = append(all, folded{rows[0].PageID, anchorsOf(rows[:n])}), rows[n:]
	}
	for some := range slices.Chunk(all, rankFolded) {
		doc, err := json.Marshal(some)
		if err != nil {
			return err
		}
		changed, err := retryConflicts(ctx, "store ranks", func() (int32, error) { return r.q.RankFold(ctx, doc) })
		if err != nil {
			return err
		}
		r.rep.Called += int64(changed)
	}
	return nil
}

// anchorsOf are the terms of what other registered domains call a page.
func anchorsOf(rows []dbsqlc.RankAnchorsRow) string {
	type said struct{ by, text string }
	seen, texts := map[said]bool{}, map[string]int{}
	for _, row := range rows {
		by := rank.Registered(row.FromDomain)
		if row.Anchor != "" && by != rank.Registered(row.Domain) && !seen[said{by, row.Anchor}] {
			seen[said{by, row.Anchor}] = true
			texts[row.Anchor]++
		}
	}
	return terms.Anchors(texts)
}

func (r *ranking) rankKeywords(ctx context.Context) error {
	for after := int64(0); ; {
		last, err := retryConflicts(ctx, "store ranks", func() (int64, error) {
			return r.q.RankKeywords(ctx, dbsqlc.RankKeywordsParams{After: after, Most: rankStored})
		})
		if err != nil || last == 0 {
			return err
		}
		r.rep.Found += rankStored
		r.tell(r.rep.Found, 0)
		after = last
	}
}

// domainRank is what a domain is worth; the zero value where no links to it are known.
func (s *Store) domainRank(ctx context.Context, domain string) (crawl.Rank, error) {
	row, err := s.q.DomainRank(ctx, domain)
	if errors.Is(err, pgx.ErrNoRows) {
		return crawl.Rank{}, nil
	}
	return rankOf(row.Inlinks, row.Score), err
}

// pageRank does it for a page.
func (s *Store) pageRank(ctx context.Context, page int64) (crawl.Rank, error) {
	row, err := s.q.PageRank(ctx, page)
	if errors.Is(err, pgx.ErrNoRows) {
		return crawl.Rank{}, nil
	}
	return rankOf(row.Inlinks, row.Score), err
}

func rankOf(inlinks int32, score float32) crawl.Rank {
	return crawl.Rank{Domains: int(inlinks), Score: math.Round(float64(score)*1000) / 1000}
}

// BestDomains are those that are worth most, at most most.
func (s *Store) BestDomains(ctx context.Context, most int) ([]crawl.RankedDomain, error) {
	rows, err := s.q.BestDomains(ctx, int32(most)) //nolint:gosec // the caller bounds it
	if err != nil {
		return nil, translate("read the best domains", err)
	}
	list := make([]crawl.RankedDomain, len(rows))
	for i, r := range rows {
		list[i] = crawl.RankedDomain{Domain: r.Domain, Rank: rankOf(r.Inlinks, r.Score)}
	}
	return list, nil
}
