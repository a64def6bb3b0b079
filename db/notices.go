package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// What the public listener may take of the database.
const (
	noticeStatementSpan = 5 * time.Second
	noticeConns         = 2
)

// noticesLock is the advisory lock under which one notice is taken at a time.
const noticesLock = 0x6d6f736579_0a

// OpenNotices is Open for what strangers tell: it has two connections, and ends each statement
// after five seconds (TimedOut).
func OpenNotices(ctx context.Context, url string) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) {
		cfg.AfterConnect = beginAs(workerRole)
		cfg.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(noticeStatementSpan.Milliseconds(), 10)
		cfg.MaxConns = min(cfg.MaxConns, noticeConns)
	})
}

// TakeNotice keeps what a stranger has told, in one transaction, within the bounds of package crawl.
// It makes no request: the key file is a row of the frontier from then on.
func (s *Store) TakeNotice(ctx context.Context, n crawl.Notice) (taken crawl.NoticeTaken, err error) {
	doc, err := document("a notice", n)
	if err != nil {
		return taken, err
	}
	limits, err := document("the bounds of notices", map[string]int64{
		"lock": noticesLock, "urls": crawl.NoticeURLsMax, "urls_of_all": crawl.NoticeURLsOfAll, "keys_of_all": crawl.NoticeKeysOfAll,
		"keys_of_domain": crawl.NoticeKeysOfDomain, "ask_every_ms": ms(crawl.NoticeAskEvery), "kept_ms": ms(crawl.NoticeKept),
	})
	if err != nil {
		return taken, err
	}
	data, err := retryConflicts(ctx, "take a notice of "+n.Host, func() ([]byte, error) {
		return s.q.NoticesTake(ctx, dbsqlc.NoticesTakeParams{Notice: doc, Limits: limits})
	})
	if err != nil {
		return taken, err
	}
	if err := json.Unmarshal(data, &taken); err != nil {
		return taken, fmt.Errorf("read what became of a notice of %s: %w", n.Host, err)
	}
	return taken, nil
}

const (
	// noticeDomains is how many domains one call looks at, noticePages how many pages of one a
	// transaction does, and noticeSteps how many transactions there are for one.
	noticeDomains = 200
	noticePages   = 1000
	noticeSteps   = crawl.NoticeURLsMax / noticePages
)

// ApplyNotices has key files asked for that wait, and carries out notices whose keys are verified:
// pages come earlier, and new ones become part of the runs that admit them. It looks at a bounded
// number, and returns how many pages it has changed something for.
func (s *Store) ApplyNotices(ctx context.Context) (int, error) {
	err := retry(ctx, "ask for key files", func() error {
		_, err := s.q.NoticesAsk(ctx, dbsqlc.NoticesAskParams{GapMs: ms(crawl.NoticeAskEvery), Most: noticeDomains})
		return err
	})
	if err != nil {
		return 0, err
	}
	domains, err := s.q.NoticesDomains(ctx, noticeDomains)
	if err != nil {
		return 0, translate("look for notices", err)
	}
	changed := 0
	for _, domain := range domains {
		for range noticeSteps {
			n, more, err := s.applyNotices(ctx, domain)
			if changed += n; err != nil {
				return changed, err
			}
			if !more {
				break
			}
		}
	}
	return changed, nil
}

// noticeRun is a run that notices of a domain bear on.
type noticeRun struct {
	id       int64
	settings settings.Settings
	// follow is how pages become part of it; nil is not at all.
	follow *crawl.Follow
}

// decidedNotice is what is to become of one notice. A notice without a history is dropped.
type decidedNotice struct {
	KeyID     int64           `json:"key_id"`
	URL       string          `json:"url"`
	ToldAt    time.Time       `json:"told_at"`
	Page      int64           `json:"page,omitempty"`
	FetchedAt *time.Time      `json:"fetched_at,omitempty"`
	Origin    string          `json:"origin,omitempty"`
	Patterns  []string        `json:"patterns"`
	History   json.RawMessage `json:"history,omitempty"`
	Due       []noticeDue     `json:"due"`
	Found     []noticeFound   `json:"found"`
}

type noticeDue struct {
	Run int64     `json:"run"`
	At  time.Time `json:"at"`
}

type noticeFound struct {
	Run    int64         `json:"run"`
	Follow *crawl.Follow `json:"follow"`
}

func (s *Store) applyNotices(ctx context.Context, domain string) (n int, more bool, err error) {
	changed, err := retryConflicts(ctx, "carry out notices of "+domain, func() (int32, error) {
		runs, kept, err := s.noticeRuns(ctx, domain)
		if err != nil {
			return 0, err
		}
		rows, err := s.q.NoticesNext(ctx, dbsqlc.NoticesNextParams{Domain: domain, Most: noticePages})
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		more = len(rows) == noticePages
		decided := make([]decidedNotice, len(rows))
		for i, r := range rows {
			decided[i] = decideNotice(r, runs, kept)
		}
		doc, err := document("what becomes of notices", decided)
		if err != nil {
			return 0, err
		}
		return s.q.NoticesApply(ctx, dbsqlc.NoticesApplyParams{Domain: domain, Decided: doc})
	})
	return int(changed), more, err
}

func (s *Store) noticeRuns(ctx context.Context, domain string) (runs []noticeRun, kept crawl.DomainRecrawl, err error) {
	rows, err := s.q.NoticesRuns(ctx, domain)
	if err != nil {
		return nil, kept, err
	}
	for _, r := range rows {
		if err := unmarshalOr(r.Recrawl, &kept); err != nil {
			return nil, kept, fmt.Errorf("read the plan of %s: %w", domain, err)
		}
		run := noticeRun{id: r.ID}
		if run.settings, err = s.settingsOf(r.Settings); err != nil {
			return nil, kept, err
		}
		if r.Depth >= 0 {
			facts := crawl.RunFacts{ID: r.ID, Settings: run.settings, Seed: r.Seed}
			run.follow, _ = decide.FollowAnnounced(facts, crawl.CrawlFacts{Depth: int(r.Depth)}, usage.Usage{})
		}
		runs = append(runs, run)
	}
	return runs, kept, nil
}

// decideNotice drops what cannot be used any more: a visit has followed, or the URL is a trap.
func decideNotice(r dbsqlc.NoticesNextRow, runs []noticeRun, kept crawl.DomainRecrawl) decidedNotice {
	d := decidedNotice{
		KeyID: r.KeyID, URL: r.Url, ToldAt: r.ToldAt, Page: r.PageID, FetchedAt: r.FetchedAt,
		Patterns: []string{}, Due: []noticeDue{}, Found: []noticeFound{},
	}
	u, err := urls.Parse(r.Url)
	if err != nil || r.FetchedAt != nil && !r.FetchedAt.Before(r.ToldAt) {
		return d
	}
	if trap, found := traps.Find(u, r.ToldAt); found && trap.Rule != "" {
		return d
	}
	history, due, err := decide.Told(kept, r.History, timeOf(r.FetchedAt), r.ToldAt, r.ToldBy)
	if err != nil {
		return d // it begins anew with its next visit
	}
	d.Origin, d.History = u.Origin(), history
	if patterns := traps.Patterns(u); patterns != nil {
		d.Patterns = patterns
	}
	again := make(map[int64]bool, len(r.Runs))
	for _, id := range r.Runs {
		again[id] = true
	}
	for _, run := range runs {
		switch {
		case !again[run.id]:
			if run.follow != nil {
				d.Found = append(d.Found, noticeFound{run.id, run.follow})
			}
		case run.settings.Recrawls() && !due.IsZero():
			least := decide.NotBefore(run.settings, kinds.Kind(r.Kind), *r.FetchedAt, timeOf(r.FreshUntil))
			if least.Before(due) {
				least = due
			}
			d.Due = append(d.Due, noticeDue{run.id, least})
		}
	}
	return d
}

// Notices are what owners of a domain have told lately, with which result, the latest first.
func (s *Store) Notices(ctx context.Context, domain string) ([]report.Notice, error) {
	rows, err := s.q.NoticesOf(ctx, domain)
	all := make([]report.Notice, len(rows))
	for i, r := range rows {
		all[i] = report.Notice{
			Host: r.Host, State: crawl.NoticeState(r.State), Why: r.Why, Waiting: int(r.Waiting), ToldAt: r.ToldAt, By: r.ToldBy,
			AskedAt: timeOf(r.AskedAt), CheckedAt: timeOf(r.CheckedAt), Until: r.Until,
		}
	}
	return all, translate("read what owners of "+domain+" have told", err)
}
