package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/traces"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) {
	code := dbtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines were left behind:", err)
		code = 1
	}
	os.Exit(code)
}

const (
	agent   = "mosey"
	runName = "small-web"
	// payloadMax is the largest allowed payload; see package activities.
	payloadMax = 4 << 10
)

// testBundle is one worker's activities, on a database and a synthetic web of
// their own.
type testBundle struct {
	acts    *activities.Activities
	run     crawl.Run
	site    string // host of the site that the test is about
	starter *starter
	store   *db.Store
	url     string // of the database
	web     *web.Web
}

// options hold the differences between tests. The zero value means one site with a root page only,
// and a run without delays.
type options struct {
	sites    []web.Site
	settings settings.Settings
	limits   fetch.Config
	// private omits the web's network from the allowed networks.
	private bool
	// maxFetches is the limit of concurrent requests; 0 means the default
	maxFetches     int
	allowMalformed bool
	allow          netip.Prefix
	seedFiles      activities.SeedFiles
	images         activities.ImageStore
	archive        request.Archive
	registry       read.Registry
	// logger is the worker's logger; nil discards the log
	logger *slog.Logger
	tracer *traces.Tracer
	// network is the monitor; nil means a monitor that never excuses the failure of a single site
	network *network.Monitor
	// completer lets batches complete their activities asynchronously; nil makes them wait in
	// process
	completer activities.Completer
	resolve   func(activities.Resolver) activities.Resolver
	wrap      func(activities.Fetcher) activities.Fetcher
	rows      func(activities.Store) activities.Store
}

func setup(t *testing.T, o options) *testBundle {
	t.Helper()
	if o.sites == nil {
		o.sites = []web.Site{{Pages: -1, Plain: true}}
	}
	b := &testBundle{url: dbtest.URL(t), starter: &starter{}}
	b.web = web.StartT(t, web.Options{Sites: o.sites, PageBytes: 1 << 10})
	store, err := db.OpenOwner(t.Context(), b.url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b.store = store

	if o.settings.Delay == nil {
		o.settings.Delay = new(settings.Duration)
	}
	if o.settings.IPDelay == nil {
		o.settings.IPDelay = new(settings.Duration)
	}
	if o.settings.LatencyFactor == nil {
		o.settings.LatencyFactor = new(float64)
	}
	withoutLists(&o.settings)
	b.run, err = store.EnsureRun(t.Context(), runName, "test", o.settings)
	require.NoError(t, err)
	b.acts = b.worker(t, o)
	b.site = b.web.Hosts()[0]
	return b
}

// withoutLists turns sitemaps and feeds off where they are not turned on: they have tests
// of their own, and others count requests.
func withoutLists(set *settings.Settings) {
	if set.Sitemaps == nil {
		set.Sitemaps = new(false)
	}
	if set.Feeds == nil {
		set.Feeds = new(false)
	}
}

// setupCases is setup for the cases of a table, each with a site of its own: a
// database for each would cost more than the tests.
func setupCases[Case any](
	t *testing.T, o options, cases map[string]Case, siteOf func(Case) web.Site,
) map[string]*testBundle {
	t.Helper()
	names := slices.Sorted(maps.Keys(cases))
	for _, name := range names {
		o.sites = append(o.sites, siteOf(cases[name]))
	}
	shared := setup(t, o)
	bundles := make(map[string]*testBundle)
	for i, name := range names {
		b := *shared
		b.site = b.web.Hosts()[i]
		bundles[name] = &b
	}
	return bundles
}

// worker makes activities such as another worker process has.
func (b *testBundle) worker(t *testing.T, o options) *activities.Activities {
	t.Helper()
	o.limits.UserAgent = agent + "/test (+https://example.org/bot)"
	if !o.private {
		o.limits.AllowNetworks = []netip.Prefix{b.web.Network()}
	}
	if o.allow.IsValid() {
		o.limits.AllowNetworks = append(o.limits.AllowNetworks, o.allow)
	}
	client, err := fetch.New(o.limits)
	require.NoError(t, err)
	var fetcher activities.Fetcher = client
	if o.wrap != nil {
		fetcher = o.wrap(client)
	}
	server, err := dns.New(dns.Config{Servers: []string{b.web.DNSAddr()}})
	require.NoError(t, err)
	var resolver activities.Resolver = server
	if o.resolve != nil {
		resolver = o.resolve(server)
	}
	if o.network == nil {
		o.network = network.New(network.Config{Jitter: rand.Float64, EvidenceTimeout: 100 * time.Millisecond, DoubtLimit: -1})
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	var rows activities.Store = b.store
	if o.rows != nil {
		rows = o.rows(b.store)
	}
	acts, err := activities.New(activities.Config{
		Store: rows, Starter: b.starter, Agent: agent,
		Requests: request.Config{
			Fetcher: fetcher, Resolver: resolver, MaxFetches: o.maxFetches, Timeout: o.limits.TotalTimeout,
			Network: o.network, Log: o.logger, Tracer: o.tracer, Archive: o.archive,
		},
		Completer: o.completer, AllowMalformed: o.allowMalformed, SeedFiles: o.seedFiles, Images: o.images, Registry: o.registry,
	})
	require.NoError(t, err)
	return acts
}

// seed makes pages of the site part of the run, as a dispatcher would find
// them: claimed.
func (b *testBundle) seed(t *testing.T, targets ...string) {
	t.Helper()
	pages := make([]string, len(targets))
	for i, target := range targets {
		pages[i] = b.page(target)
	}
	b.seedURLs(t, pages...)
}

func (b *testBundle) seedURLs(t *testing.T, raw ...string) {
	t.Helper()
	pages := make([]seeds.Seed, len(raw))
	for i, text := range raw {
		var err error
		pages[i], err = seeds.Parse(text)
		require.NoError(t, err)
	}
	stored, err := b.store.StoreSeeds(t.Context(), b.run.ID, seeds.URLs, pages)
	require.NoError(t, err)
	require.Len(t, raw, stored.Added)
	_, err = b.store.ClaimDomains(t.Context(), b.run.ID, 100)
	require.NoError(t, err)
}

// page is a page of the site.
func (b *testBundle) page(target string) string { return b.web.URL(b.site, target) }

func originOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := urls.Parse(raw)
	require.NoError(t, err)
	return u.Origin()
}

func domainOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := urls.Parse(raw)
	require.NoError(t, err)
	return u.Domain()
}

// allowAll stores that an origin has no robots.txt, for tests of what comes after.
func (b *testBundle) allowAll(t *testing.T, raw string) {
	t.Helper()
	u, err := urls.Parse(raw)
	require.NoError(t, err)
	_, err = b.store.SaveRobots(t.Context(), crawl.Robots{
		Origin: u.Origin(), Domain: u.Domain(), Agent: agent, Verdict: crawl.RobotsAllowAll, Lifetime: crawl.Millis(time.Hour),
	})
	require.NoError(t, err)
}

// readRobots fetches the site's robots.txt.
func (b *testBundle) readRobots(t *testing.T) activities.FetchRobotsResult {
	t.Helper()
	res, err := b.fetchRobots(t, activities.FetchRobotsInput{Domain: b.site, Origin: originOf(t, b.page("/"))})
	require.NoError(t, err)
	require.True(t, res.Done)
	return res
}

// fetchPages runs FetchPages for the site.
func (b *testBundle) fetchPages(t *testing.T, maxPages int, with ...envOption) (activities.FetchPagesResult, error) {
	t.Helper()
	in := activities.FetchPagesInput{Domain: b.site, MaxPages: maxPages}
	res, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in, with...)
	res.Runs = nil // see TestRunsOfADomain
	return res, err
}

// control stores a person's decision about a domain.
func (b *testBundle) control(domain string, kind crawl.ControlType, value any) error {
	c := crawl.Control{Type: kind, Reason: "asked to", SetBy: "a test"}
	if value != nil {
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		c.Value = data
	}
	return b.store.SetControl(context.Background(), domain, c)
}

func (b *testBundle) fetchRobots(t *testing.T, in activities.FetchRobotsInput) (activities.FetchRobotsResult, error) {
	t.Helper()
	return activityCall[activities.FetchRobotsResult](t, b.acts, b.acts.FetchRobots, in)
}

// report returns the stored report of a page of the site.
func (b *testBundle) report(t *testing.T, target string) report.Page {
	t.Helper()
	rep, err := b.store.Page(t.Context(), b.site, b.page(target))
	require.NoError(t, err)
	return rep
}

// count runs a query for one number.
func (b *testBundle) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// exec runs a statement.
func (b *testBundle) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := b.store.Pool().Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}

// requireNothingInFlight checks that none of the site's rows is locked and that its
// slots are not held.
func (b *testBundle) requireNothingInFlight(t *testing.T) {
	t.Helper()
	addr, _ := b.web.Addr(b.site)
	require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE locked_at IS NOT NULL AND domain = $1", b.site), "rows are locked")
	require.Zero(t, b.count(t, "SELECT count(*) FROM politeness_slots WHERE holder IS NOT NULL AND key IN ($1, $2)",
		"domain:"+b.site, "ip:"+addr.String()), "slots are held")
}

// requireSlot checks that the site's domain is left alone for a delay after a
// request.
func (b *testBundle) requireSlot(t *testing.T, after web.Record, delay time.Duration, why reasons.Reason) {
	t.Helper()
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	ended := after.Time.Add(after.End - after.Start)
	require.False(t, d.SlotFree.Before(ended.Add(delay)), "free %s too early", ended.Add(delay).Sub(d.SlotFree))
	require.Equal(t, why, d.SlotReason)
}

// log returns the requests to the site.
func (b *testBundle) log() web.Log {
	addr, _ := b.web.Addr(b.site)
	return slices.DeleteFunc(b.web.Log(), func(r web.Record) bool { return r.LocalAddr.Addr() != addr })
}

// pages returns the paths of the requested pages of the site.
func (b *testBundle) pages() []string {
	targets := []string{}
	for _, r := range b.log().Pages() {
		targets = append(targets, r.Target)
	}
	return targets
}

// environment configures the environment of one activity.
type environment struct {
	beat func()
	ctx  context.Context
	logs slog.Handler
	stop chan struct{}
	// earlier is the result of the previous attempt.
	earlier any
}

type envOption func(*environment)

// cancelledBy makes the activity's context end with ctx.
func cancelledBy(ctx context.Context) envOption { return func(e *environment) { e.ctx = ctx } }

// stoppedBy makes the worker stop when the channel is closed.
func stoppedBy(stop chan struct{}) envOption { return func(e *environment) { e.stop = stop } }

// after makes the call another attempt, after one with this result.
func after(earlier any) envOption { return func(e *environment) { e.earlier = earlier } }

// beating calls a function at each heartbeat.
func beating(f func()) envOption { return func(e *environment) { e.beat = f } }

// loggingTo hands the activity's log messages to a function.
func loggingTo(f func(message string)) envOption {
	return func(e *environment) { e.logs = messages(f) }
}

type messages func(string)

func (messages) Enabled(context.Context, slog.Level) bool { return true }

func (m messages) Handle(_ context.Context, r slog.Record) error {
	m(r.Message)
	return nil
}

func (m messages) WithAttrs([]slog.Attr) slog.Handler { return m }
func (m messages) WithGroup(string) slog.Handler      { return m }

// activityCall is callWhole, without what results have for people alone.
func activityCall[Out any](
	t *testing.T, acts *activities.Activities, method, in any, with ...envOption,
) (out Out, err error) {
	t.Helper()
	out, err = callWhole[Out](t, acts, method, in, with...)
	switch res := any(&out).(type) {
	case *activities.FetchPagesResult:
		res.Outcomes, res.LastRequest, res.Summary, res.Backoff = nil, activities.RequestSummary{}, activities.DomainSummary{}, 0
	case *activities.FetchRobotsResult:
		res.Request = activities.RequestSummary{}
	}
	return out, err
}

// callWhole runs an activity as a worker does, input, result and error encoded. Each
// must be small.
func callWhole[Out any](
	t *testing.T, acts *activities.Activities, method, in any, with ...envOption,
) (out Out, err error) {
	t.Helper()
	e := environment{beat: func() {}, ctx: context.Background(), logs: slog.DiscardHandler, stop: make(chan struct{})}
	for _, set := range with {
		set(&e)
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(e.logs)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(acts)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: e.ctx})
	env.SetWorkerStopChannel(e.stop)
	if e.earlier != nil {
		env.SetHeartbeatDetails(e.earlier)
	}
	var told converter.EncodedValues
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		e.beat()
		told = details
	})
	payload, encodeErr := json.Marshal(in)
	require.NoError(t, encodeErr)
	require.Less(t, len(payload), payloadMax)
	value, err := env.ExecuteActivity(method, in)
	if err != nil {
		require.Less(t, len(err.Error()), payloadMax)
		if told != nil && told.HasValues() { // the result so far
			require.NoError(t, told.Get(&out))
		}
		return out, err
	}
	if value.HasValue() {
		require.NoError(t, value.Get(&out))
	}
	payload, encodeErr = json.Marshal(out)
	require.NoError(t, encodeErr)
	require.Less(t, len(payload), payloadMax)
	return out, nil
}

// requireSiteFailure checks that an error has Temporal make another attempt for a site's failure, and
// quietly, and returns for how long the domain is left alone.
func requireSiteFailure(t *testing.T, err error) time.Duration {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, activities.TypeSiteFailure, app.Type())
	require.False(t, app.NonRetryable())
	require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
	if app.NextRetryDelay() > 0 {
		return app.NextRetryDelay()
	}
	return activities.FirstBackoff(0)
}

// requireBadInput checks that an error fails the activity for good, and says why.
func requireBadInput(t *testing.T, err error, why string) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, activities.TypeBadInput, app.Type())
	require.True(t, app.NonRetryable())
	require.Contains(t, app.Message(), why)
}

// requireInternalFailure checks that an error is left to the retry policy.
func requireInternalFailure(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	var app *temporal.ApplicationError
	if require.ErrorAs(t, err, &app); app != nil {
		require.NotContains(t, []string{activities.TypeSiteFailure, activities.TypeBadInput}, app.Type())
		require.False(t, app.NonRetryable())
		require.LessOrEqual(t, app.NextRetryDelay(), 15*time.Second)
	}
}
