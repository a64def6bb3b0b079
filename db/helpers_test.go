package db_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/test/dbtest"
)

// longHold is a hold that no test outlives.
const longHold = time.Hour

// bundle is a store on a database of the test's own, and one run in it.
type bundle struct {
	*db.Store

	run crawl.Run
	// held are the leases that take got, by domain and holder.
	held *sync.Map
}

func setup(t *testing.T, set settings.Settings) *bundle {
	t.Helper()
	return setupRun(t, "test", set)
}

// setupRun is setup with a name for the run. Subtests that run in parallel have databases of their
// own: in one database, they would skip or wait for rows that others have locked.
func setupRun(t *testing.T, run string, set settings.Settings) *bundle {
	t.Helper()
	b := &bundle{Store: dbtest.New(t), held: &sync.Map{}}
	b.run = b.ensureRun(t, run, set)
	return b
}

func (b *bundle) ensureRun(t *testing.T, name string, set settings.Settings) crawl.Run {
	t.Helper()
	require.NoError(t, set.Validate())
	run, err := b.EnsureRun(t.Context(), name, "test", set)
	require.NoError(t, err)
	return run
}

// in is the same store with another run.
func (b *bundle) in(t *testing.T, name string, set settings.Settings) *bundle {
	t.Helper()
	return &bundle{Store: b.Store, run: b.ensureRun(t, name, set), held: b.held}
}

func parse(t testing.TB, raw ...string) []urls.URL {
	t.Helper()
	parsed, err := urls.ParseAll(raw)
	require.NoError(t, err)
	return parsed
}

func links(t testing.TB, raw ...string) []crawl.Link {
	t.Helper()
	found := make([]crawl.Link, 0, len(raw))
	for _, u := range parse(t, raw...) {
		found = append(found, crawl.Link{URL: u.String(), Domain: u.Domain(), Registered: u.RegisteredParent(), Origin: u.Origin()})
	}
	return found
}

// seed makes URLs seeds of the bundle's run.
func (b *bundle) seed(t *testing.T, raw ...string) {
	t.Helper()
	_, err := b.AddSeeds(t.Context(), b.run.ID, parse(t, raw...))
	require.NoError(t, err)
}

func (b *bundle) claim(t *testing.T, most int) []string {
	t.Helper()
	_, err := b.ExpireClaims(t.Context())
	require.NoError(t, err)
	domains, err := b.ClaimDomains(t.Context(), b.run.ID, most)
	require.NoError(t, err)
	return domains
}

// end finishes a domain as decide says, and reports whether it did.
func (b *bundle) end(t *testing.T, domain, reason string) bool {
	t.Helper()
	finished, err := b.FinishDomain(t.Context(), domain, ends(reason))
	require.NoError(t, err)
	return finished
}

// ends decides as FinishDomain's caller does.
func ends(reason string) func(crawl.Facts) (crawl.Finish, bool) {
	return func(f crawl.Facts) (crawl.Finish, bool) { return decide.End(decide.Facts{Facts: f}, reason) }
}

// deferred finishes a domain whatever is due.
func (b *bundle) deferred(t *testing.T, domain string, wait time.Duration, reason string) {
	t.Helper()
	finished, err := b.FinishDomain(t.Context(), domain, func(f crawl.Facts) (crawl.Finish, bool) {
		return decide.Deferral(f, wait, reason), true
	})
	require.NoError(t, err)
	require.True(t, finished)
}

func (b *bundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	tag, err := b.Pool().Exec(t.Context(), sql, args...)
	require.NoError(t, err)
	require.Positive(t, tag.RowsAffected(), sql)
}

// expire makes it as if a slot's time had passed.
func (b *bundle) expire(t *testing.T, key string) {
	t.Helper()
	b.exec(t, "UPDATE politeness_slots SET free_at = clock_timestamp() - interval '1 second', ended_at = NULL WHERE key = $1", key)
}

// makeDue makes it as if the time of all the run's pending attempts had come, and
// that of its domains to be looked at.
func (b *bundle) makeDue(t *testing.T) {
	t.Helper()
	b.exec(t, `UPDATE page_crawls SET scheduled_for = now() - interval '1 second'
		WHERE outcome IS NULL AND locked_at IS NULL AND run_id = $1`, b.run.ID)
	_, err := b.Pool().Exec(t.Context(), `SELECT due_update(ARRAY[rd.domain]) FROM run_domains rd WHERE rd.run_id = $1`, b.run.ID)
	require.NoError(t, err)
}

// one reads a single value.
func one[T any](t *testing.T, b *bundle, sql string, args ...any) T {
	t.Helper()
	rows, err := b.Pool().Query(t.Context(), sql, args...)
	require.NoError(t, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return v
}

// column reads a list of values.
func column[T any](t *testing.T, b *bundle, sql string, args ...any) []T {
	t.Helper()
	rows, err := b.Pool().Query(t.Context(), sql, args...)
	require.NoError(t, err)
	vs, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return vs
}

func (b *bundle) clock(t *testing.T) time.Time {
	t.Helper()
	return one[time.Time](t, b, "SELECT clock_timestamp()")
}

// snapshot is all that is stored, as text, to see that nothing changes it.
func (b *bundle) snapshot(t *testing.T) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for _, table := range []string{
		"crawl_runs", "domains", "run_domains", "pages", "page_crawls", "page_links", "robots",
		"politeness_slots", "staged_seeds", "domain_controls", "domain_health", "url_patterns",
		"robots_history", "robots_contents",
	} {
		all[table] = column[string](t, b, "SELECT x::text FROM "+table+" x ORDER BY 1")
	}
	return all
}

// together runs fn n times at once and wants no errors.
func together(t *testing.T, n int, fn func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// eventually polls until ok, for something that happens outside this goroutine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		require.True(t, time.Now().Before(deadline), "waited in vain: %s", what)
		<-tick.C
	}
}

// race runs the second while the first, which it has to wait for, has not
// committed.
func (b *bundle) race(t *testing.T, first string, second func() error) {
	t.Helper()
	b.raceWith(t, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), first)
		return err
	}, second)
}

// finishing gives domainA back, as FinishDomain does where the facts say that nothing is due.
func finishing(t *testing.T) func(pgx.Tx) error {
	t.Helper()
	return func(tx pgx.Tx) error {
		q := dbsqlc.New(tx)
		_, err := q.DomainLock(t.Context(), domainA)
		return errors.Join(err, q.DomainFinish(t.Context(), dbsqlc.DomainFinishParams{Domain: domainA}))
	}
}

func (b *bundle) raceWith(t *testing.T, first func(pgx.Tx) error, second func() error) {
	t.Helper()
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // it was committed
	require.NoError(t, first(tx))
	done := make(chan error, 1)
	go func() { done <- second() }()
	eventually(t, "the second waits for the first", func() bool { return b.blocked(t) })
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
}

// blocked reports whether a session of this database waits for another's lock.
func (b *bundle) blocked(t *testing.T) bool {
	t.Helper()
	return one[bool](t, b, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock')`)
}

func minutes(n int) *settings.Duration { return new(settings.Duration(time.Duration(n) * time.Minute)) }

func (b *bundle) page(t *testing.T, raw string) report.Page {
	t.Helper()
	page, err := b.Page(t.Context(), parse(t, raw)[0].Domain(), raw)
	require.NoError(t, err)
	return page
}

func (b *bundle) progress(t *testing.T) report.Progress {
	t.Helper()
	p, err := b.Progress(t.Context(), b.run)
	require.NoError(t, err)
	return p
}

// crawls lists the URLs of a run's crawls in alphabetical order.
func (b *bundle) crawls(t *testing.T) []string {
	t.Helper()
	return column[string](t, b, "SELECT url FROM page_crawls WHERE run_id = $1 AND NOT prerequisite ORDER BY url COLLATE \"C\"", b.run.ID)
}

// allLinks lists a page's links as "kind nofollow url".
func (b *bundle) allLinks(t *testing.T, from string) []string {
	t.Helper()
	return column[string](t, b, `SELECT l.kind || CASE WHEN l.nofollow THEN ' nofollow ' ELSE ' ' END || p.url
		FROM page_links l JOIN pages f ON f.id = l.from_page_id JOIN pages p ON p.id = l.to_page_id
		WHERE f.url = $1 ORDER BY l.kind, l.nofollow, p.url COLLATE "C"`, from)
}
