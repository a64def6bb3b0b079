package activities_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// one is a site that answers its only page like this.
func one(behaviour web.Behaviour) []web.Site {
	return []web.Site{{Pages: -1, Plain: true, Behaviour: behaviour}}
}

// halfBody promises more than it sends.
func halfBody(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html")
	v.W.Header().Set("Content-Length", "1000")
	v.Write([]byte("<title>half"))
	v.Flush()
	v.Abort()
}

// raw answers with bytes that need not be HTTP.
func raw(answer string) web.Behaviour {
	return serve(func(v *web.Visit) {
		conn, buffered, err := http.NewResponseController(v.W).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = buffered.WriteString(answer) // the client may have left
		_ = buffered.Flush()
	})
}

func TestFetchPagesRetries(t *testing.T) {
	t.Parallel()
	quick := fetch.Config{
		ConnectTimeout: 300 * time.Millisecond, FirstByteTimeout: 300 * time.Millisecond, TotalTimeout: 600 * time.Millisecond,
	}
	type testCase struct {
		behaviour web.Behaviour
		outcome   crawl.Outcome
		status    int
		says      string
		timeout   bool
		// page is a failure of the page, not of its domain
		page bool
	}
	cases := map[string]testCase{
		"A500": {behaviour: web.Status{Code: 500}, outcome: crawl.OutcomeBlocked5xx, status: 500, page: true},
		"A500ThatSaysWhen": {
			behaviour: web.Status{Code: 500, RetryAfter: 2 * time.Second}, outcome: crawl.OutcomeBlocked5xx, status: 500,
		},
		"A503":       {behaviour: web.Status{Code: 503}, outcome: crawl.OutcomeBlocked5xx, status: 503},
		"A429":       {behaviour: web.Status{Code: 429}, outcome: crawl.OutcomeBlocked4xx, status: 429},
		"AReset":     {behaviour: web.Reset{}, outcome: crawl.OutcomeFailed, says: "fetch: reset"},
		"AHalfBody":  {behaviour: serve(halfBody), outcome: crawl.OutcomeFailed, status: 200, says: "fetch: reset"},
		"AStall":     {behaviour: web.Stall{}, outcome: crawl.OutcomeTimeout, status: 200, says: "fetch: timeout", timeout: true, page: true},
		"AHang":      {behaviour: web.Hang{}, outcome: crawl.OutcomeTimeout, says: "fetch: timeout", timeout: true, page: true},
		"ADrip":      {behaviour: web.Drip{Every: 20 * time.Millisecond}, outcome: crawl.OutcomeTimeout, status: 200, says: "fetch: timeout", timeout: true, page: true},
		"AnEmptyEnd": {behaviour: raw(""), outcome: crawl.OutcomeFailed, says: "fetch: reset"},
	}
	bundles := setupCases(t, options{}, cases, func(c testCase) web.Site { return one(c.behaviour)[0] })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundles[name]
			if tc.timeout {
				b.acts = b.worker(t, options{limits: quick})
			}
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			res, err := b.fetchPages(t, 5)
			// the wait doubles from a second, and jitter adds up to a quarter
			if tc.page {
				require.NoError(t, err)
				require.Equal(t, activities.StepFetch, res.Next)
				require.Equal(t, reasons.Scheduled, res.Reason)
				b.requireRetryOfPage(t, time.Duration(res.Wait), 2*time.Second, 2500*time.Millisecond)
			} else {
				b.requireRetry(t, requireSiteFailure(t, err), 2*time.Second, 2500*time.Millisecond)
				require.ErrorContains(t, err, b.page("/")+": attempt 1 of 4 failed: ")
			}
			done := b.report(t, "/").Crawls[1]
			require.Equal(t, tc.outcome, done.Outcome)
			require.Equal(t, tc.status, done.StatusCode)
			require.Contains(t, done.Error, tc.says)
			require.Equal(t, []string{"/"}, b.pages(), "one request an attempt")
		})
	}

	t.Run("ARefusedConnection", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		// an address of the web's network where no site is
		seed := "http://127.65.0.1:" + strconv.Itoa(b.web.Port()) + "/"
		b.seedURLs(t, seed)
		b.allowAll(t, seed)
		in := activities.FetchPagesInput{Domain: "127.65.0.1", MaxPages: 1}
		_, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
		require.InDelta(t, 2250*time.Millisecond, requireSiteFailure(t, err), float64(time.Second))
		rep, err := b.store.Page(t.Context(), domainOf(t, seed), seed)
		require.NoError(t, err)
		require.Len(t, rep.Crawls, 2)
		require.Equal(t, crawl.OutcomeFailed, rep.Crawls[1].Outcome)
		require.Contains(t, rep.Crawls[1].Error, "fetch: connect")
		require.Equal(t, "127.65.0.1", rep.Crawls[1].IP)
	})

	t.Run("ANameThatIsNotResolvedMorePatiently", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []web.DNSMode{web.DNSMissing, web.DNSServFail} {
			b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, DNS: mode}}})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			// it quadruples
			b.requireRetry(t, requireSiteFailure(t, err), 4*time.Second, 5*time.Second)
			done := b.report(t, "/").Crawls[1]
			require.Equal(t, crawl.OutcomeFailed, done.Outcome)
			require.Contains(t, done.Error, "dns: \""+b.site+"\"")
			require.Empty(t, done.IP)
			require.Empty(t, b.web.Log())
		}
	})
}

// requireRetry checks that the site's root was tried in vain, that its next
// attempt is pending, and that nobody asks the domain before. What Temporal waits
// may be shorter only by the time that has passed since the request.
func (b *testBundle) requireRetry(t *testing.T, wait, low, high time.Duration) {
	t.Helper()
	pending, done := b.requireRetried(t)
	require.Equal(t, done.ScheduledFor, pending.ScheduledFor, "it keeps its place")
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	requireWaits(t, wait, done.CompletedAt, d.SlotFree, low, high)
}

// busy is how long a record may take on a busy machine: what is stored counts from then, what
// Temporal waits from before.
const busy = 500 * time.Millisecond

// requireRetryOfPage checks it for a page whose domain may be requested earlier.
func (b *testBundle) requireRetryOfPage(t *testing.T, wait, low, high time.Duration) {
	t.Helper()
	pending, done := b.requireRetried(t)
	requireWaits(t, wait, done.CompletedAt, pending.ScheduledFor, low, high)
}

func requireWaits(t *testing.T, wait time.Duration, from, until time.Time, low, high time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, until.Sub(from), low)
	require.LessOrEqual(t, until.Sub(from), high+time.Millisecond)
	require.LessOrEqual(t, wait, high)
	require.False(t, time.Now().Add(wait).Before(until.Add(-busy)), "Temporal would be early")
}

func (b *testBundle) requireRetried(t *testing.T) (pending, done report.Attempt) {
	t.Helper()
	rep := b.report(t, "/")
	require.Equal(t, "discovered", rep.Status, "there are attempts left")
	require.Len(t, rep.Crawls, 2)
	pending, done = rep.Crawls[0], rep.Crawls[1]
	require.Empty(t, pending.Outcome)
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE id = $1 AND previous_id = $2", pending.ID, done.ID))
	b.requireNothingInFlight(t)
	return pending, done
}

func TestFetchPagesGivesUpOn(t *testing.T) {
	t.Parallel()

	t.Run("APageAfterItsLastAttempt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: 1, Plain: true, Paths: map[string]web.Behaviour{"/": web.Status{Code: 503}}}},
			settings: settings.Settings{MaxAttempts: new(1)},
		})
		b.seed(t, "/", "/p/1")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		require.Equal(t, b.page("/p/1"), res.URL, "the loop goes on")
		require.Equal(t, reasons.Backoff, res.Reason, "but not faster than the failure allows")
		require.Positive(t, res.Wait)
		require.Equal(t, 2000, b.count(t, "SELECT delay_ms FROM page_crawls WHERE outcome = 'blocked_5xx'"))
		rep := b.report(t, "/")
		require.Equal(t, "failed", rep.Status)
		require.Len(t, rep.Crawls, 1)
	})

	type testCase struct {
		behaviour web.Behaviour
		outcome   crawl.Outcome
		status    int
		says      string
	}
	cases := map[string]testCase{
		"A404":       {behaviour: web.Status{Code: 404}, outcome: crawl.OutcomeBlocked4xx, status: 404},
		"A403":       {behaviour: web.Status{Code: 403}, outcome: crawl.OutcomeBlocked4xx, status: 403},
		"NoHTTP":     {behaviour: raw("SSH-2.0-OpenSSH_9.9\r\n"), outcome: crawl.OutcomeFailed, says: "fetch: protocol"},
		"ABrokenZip": {behaviour: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8bnope"), outcome: crawl.OutcomeFailed, status: 200, says: "fetch: decode"},
		"AStatusOf42": {
			behaviour: raw("HTTP/1.1 042 What\r\nContent-Length: 0\r\n\r\n"), outcome: crawl.OutcomeFailed, says: "fetch: protocol",
		},
	}
	bundles := setupCases(t, options{}, cases, func(c testCase) web.Site { return one(c.behaviour)[0] })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundles[name]
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			res, err := b.fetchPages(t, 5)
			require.NoError(t, err)
			require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 1}, res)
			rep := b.report(t, "/")
			require.Equal(t, "failed", rep.Status)
			require.Len(t, rep.Crawls, 1)
			require.Equal(t, tc.outcome, rep.Crawls[0].Outcome)
			require.Equal(t, tc.status, rep.Crawls[0].StatusCode)
			require.Contains(t, rep.Crawls[0].Error, tc.says)
			b.requireNothingInFlight(t)
		})
	}
}

func TestFetchPagesObeysRetryAfter(t *testing.T) {
	t.Parallel()
	const asked = 90 * time.Second
	retryAfter := func(value func() string) web.Behaviour {
		return serve(func(v *web.Visit) {
			v.W.Header().Set("Retry-After", value())
			v.W.WriteHeader(http.StatusTooManyRequests)
		})
	}
	for name, behaviour := range map[string]web.Behaviour{
		"InSeconds": retryAfter(func() string { return "90" }),
		"AsADate": retryAfter(func() string {
			// a date has whole seconds
			return time.Now().Add(asked + time.Second).UTC().Format(http.TimeFormat)
		}),
		"AsADateThatIsPastByOurClock": serve(func(v *web.Visit) {
			theirs := time.Now().Add(-time.Hour).UTC()
			v.W.Header().Set("Date", theirs.Format(http.TimeFormat))
			v.W.Header().Set("Retry-After", theirs.Add(asked).Format(http.TimeFormat))
			v.W.WriteHeader(http.StatusTooManyRequests)
		}),
		"AsADateThatIsFarByOurClock": serve(func(v *web.Visit) {
			theirs := time.Now().Add(asked).UTC()
			v.W.Header().Set("Date", theirs.Format(http.TimeFormat))
			v.W.Header().Set("Retry-After", theirs.Add(time.Second).Format(http.TimeFormat))
			v.W.WriteHeader(http.StatusTooManyRequests)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: one(behaviour)})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			wait := requireSiteFailure(t, err)
			answered := b.web.Log()[0]
			ended := answered.Time.Add(answered.End - answered.Start)
			require.False(t, time.Now().Add(wait).Before(ended.Add(asked)), "NextRetryDelay is too short")
			b.requireRetry(t, wait, asked, asked+time.Second)
			require.ErrorContains(t, err, string(reasons.RetryAfter))
		})
	}

	for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusForbidden} {
		t.Run(fmt.Sprintf("WithStatus%d", status), func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: one(serve(func(v *web.Visit) {
				v.W.Header().Set("Retry-After", "90")
				v.W.Header().Set("Location", "/next")
				v.W.WriteHeader(status)
			}))})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE status_code = $1 AND retry_after_ms = 90000", status))
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM politeness_slots WHERE key LIKE 'domain:%' AND free_at > now() + interval '80 seconds'`))
		})
	}

	t.Run("AndDefersTheDomainForALongWait", func(t *testing.T) {
		t.Parallel()
		const long = 2 * time.Hour
		b := setup(t, options{
			sites:    []web.Site{{Pages: -1, Plain: true, Behaviour: web.Status{Code: 503, RetryAfter: long}}},
			settings: settings.Settings{DeferAfter: new(settings.Duration(time.Hour))},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepFinish, Defer: true, Wait: settings.Duration(long), Reason: reasons.RetryAfter, URL: b.page("/")},
			Closed:   1,
		}, res)
		b.requireRetry(t, long, long, long)
	})

	t.Run("EvenWhenItIsAbsurd", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: one(retryAfter(func() string { return strings.Repeat("9", 30) }))})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.True(t, res.Defer)
		finished, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain, activities.FinishDomainInput{
			Domain: b.site, Defer: true, Wait: res.Wait, Reason: string(res.Reason),
		})
		require.NoError(t, err)
		require.True(t, finished.Finished)
	})
}

func TestFetchPagesSurvives(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
	type testCase struct {
		answer string
		status int
	}
	cases := map[string]testCase{
		"BadUTF8InAContentType": {"HTTP/1.1 200 OK\r\nContent-Type: text/\xff\xfe html\r\nConnection: close\r\n\r\nx", 200},
		"ALongContentType":      {"HTTP/1.1 200 OK\r\nContent-Type: text/html; x=" + strings.Repeat("é", 9000) + "\r\nConnection: close\r\n\r\nx", 200},
		"BadUTF8InALocation":    {"HTTP/1.1 301 Moved\r\nLocation: gopher://\xff\xfe/\r\nContent-Length: 0\r\n\r\n", 301},
		"ALongLocation":         {"HTTP/1.1 301 Moved\r\nLocation: /" + strings.Repeat("é", 9000) + "\r\nContent-Length: 0\r\n\r\n", 301},
		"NULsInAPage":           {head + "\r\n<title>a\x00b</title><a href='/\x00'>x</a><link rel=canonical href='/c\x00'>", 200},
		"BadUTF8InAPage":        {head + "\r\n<title>a\xff\xfeb</title><a href='/\xff?\xfe'>x</a>", 200},
		"ALongTitle":            {head + "\r\n<title>" + strings.Repeat("é", 9000), 200},
		"ACharsetThatIsNone":    {"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=nope\r\nConnection: close\r\n\r\n<a href=/a>", 200},
		"TheStatusOfLinkedIn":   {"HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n", 0},
	}
	lastTry := options{settings: settings.Settings{MaxAttempts: new(1)}}
	bundles := setupCases(t, lastTry, cases, func(c testCase) web.Site { return one(raw(c.answer))[0] })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundles[name]
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			done := b.report(t, "/").Crawls[0]
			require.NotEmpty(t, done.Outcome)
			require.Equal(t, tc.status, done.StatusCode)
			b.requireNothingInFlight(t)
		})
	}

	t.Run("ABodyThatIsTooLarge", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:  one(web.Large{Bytes: 4 << 20}),
			limits: fetch.Config{MaxBodyBytes: 100_000},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		rep := b.report(t, "/")
		require.Equal(t, crawl.OutcomeSuccess, rep.Crawls[0].Outcome)
		require.Equal(t, "Large", rep.Title)
		require.True(t, rep.Crawls[0].Truncated)
		require.Less(t, rep.Crawls[0].Bytes, int64(4<<20), "the rest is not read")
		require.True(t, b.web.Log()[0].Aborted, "nor sent")
	})

	t.Run("ALinkToAForbiddenAddress", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{settings: settings.Settings{Scope: new(settings.ScopeWeb)}})
		trap := "http://" + netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(b.web.Port())).String() + "/trap"
		b.seedURLs(t, trap)
		b.allowAll(t, trap)
		in := activities.FetchPagesInput{Domain: "127.0.0.1", MaxPages: 1}
		res, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		require.Equal(t, reasons.Deferred, res.Reason)
		require.Empty(t, b.web.Log(), "not even a connection")
	})
}
