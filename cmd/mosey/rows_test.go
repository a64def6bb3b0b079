package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
)

const (
	aDomain = "a.example"
	aOrigin = "https://" + aDomain
	aPage   = aOrigin + "/"
)

// rows fills a database as crawls would.
type rows struct {
	*commandHarness

	store *db.Store
	run   crawl.Run
}

// newRows is a world with a run that has the seeds, the page alone where none are
// given.
func newRows(t *testing.T, set settings.Settings, seeds ...string) *rows {
	t.Helper()
	h, store := newHarnessWithDatabase(t)
	r := &rows{commandHarness: h, store: store}
	var err error
	r.run, err = store.EnsureRun(t.Context(), "small-web", "test", set)
	require.NoError(t, err)
	if len(seeds) == 0 {
		seeds = []string{aPage}
	}
	r.seed(r.run, seeds...)
	return r
}

// seed makes pages part of a run.
func (r *rows) seed(run crawl.Run, seeds ...string) {
	r.t.Helper()
	parsed := make([]urls.URL, len(seeds))
	for i, s := range seeds {
		var err error
		parsed[i], err = urls.Parse(s)
		require.NoError(r.t, err)
	}
	_, err := r.store.AddSeeds(r.t.Context(), run.ID, parsed)
	require.NoError(r.t, err)
}

func (r *rows) exec(sql string, args ...any) {
	r.t.Helper()
	_, err := r.store.Pool().Exec(r.t.Context(), sql, args...)
	require.NoError(r.t, err)
}

// robots stores what the origin's robots.txt says.
func (r *rows) robots(of crawl.Robots) *rows {
	r.t.Helper()
	of.Origin, of.Domain, of.Agent = aOrigin, aDomain, crawl.ProductToken
	if of.Lifetime == 0 {
		of.Lifetime = crawl.Millis(24 * time.Hour)
	}
	_, err := r.store.SaveRobots(r.t.Context(), of)
	require.NoError(r.t, err)
	return r
}

// allowed is robots of a site that forbids nothing.
func (r *rows) allowed() *rows {
	r.t.Helper()
	return r.robots(crawl.Robots{Verdict: crawl.RobotsAllowAll})
}

// slot closes the domain's slot for a while. Who has not given it back has died, if that
// while is over.
func (r *rows) slot(span time.Duration, why reasons.Reason) {
	r.t.Helper()
	r.exec(`INSERT INTO politeness_slots (key, free_at, reason) VALUES ('domain:' || $1, now() + $2::interval, $3)
		ON CONFLICT (key) DO UPDATE SET free_at = excluded.free_at, reason = excluded.reason`,
		aDomain, span, string(why))
}

func (r *rows) control(c crawl.Control) *rows {
	r.t.Helper()
	c.SetBy = "ann@example.org"
	require.NoError(r.t, r.store.SetControl(r.t.Context(), aDomain, c))
	return r
}

// begin takes the lease for the crawl of the page.
func (r *rows) begin() int64 {
	r.t.Helper()
	facts, err := r.store.Facts(r.t.Context(), aDomain)
	require.NoError(r.t, err)
	require.NotEmpty(r.t, facts.Runs)
	c := facts.Runs[0].Attempt
	require.NotNil(r.t, c, "nothing is due")
	lease, err := r.store.Begin(r.t.Context(), crawl.Start{
		AttemptID: c.ID, RunID: r.run.ID, Domain: aDomain, Origin: c.Origin, URL: c.URL, Kind: c.Kind,
		Shared: []crawl.SharedSlot{}, SlotHold: crawl.Millis(time.Minute), MaxDuration: crawl.Millis(time.Second), ClaimDuration: crawl.Millis(time.Minute),
	})
	require.NoError(r.t, err)
	require.True(r.t, lease.Granted, "%+v", lease)
	return c.ID
}

// fetched records a request for the page that is first in line.
func (r *rows) fetched(a crawl.Attempt) *rows {
	r.t.Helper()
	a.ID, a.Domain, a.Requested = r.begin(), aDomain, true
	a.EndedAt = time.Now()
	if a.Outcome == "" {
		a.Outcome, a.StatusCode = crawl.OutcomeSuccess, 200
	}
	if a.Reason == "" {
		a.Delay, a.Reason = crawl.Millis(10*time.Second), reasons.Delay
	}
	recorded, err := r.store.Record(r.t.Context(), a)
	require.NoError(r.t, err)
	require.True(r.t, recorded.Closed)
	return r
}

// closedWindow is a window that is closed now and for a day. All tests have the same, also past
// midnight.
var closedWindow = time.Now().UTC().Add(72 * time.Hour).Weekday().String()[:3] + " 10:00-11:00 UTC"
