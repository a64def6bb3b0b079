package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/audit"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

const delay = 10 * time.Second

// history writes the log of requests directly, as no crawl would leave it.
type history struct {
	t     *testing.T
	store *db.Store
	run   crawl.Run
	began time.Time
}

func newHistory(t *testing.T) *history {
	t.Helper()
	store := dbtest.New(t)
	run, err := store.EnsureRun(t.Context(), "test", "test", settings.Settings{})
	require.NoError(t, err)
	return &history{t: t, store: store, run: run, began: time.Now().Add(-time.Hour).Truncate(time.Second)}
}

func (h *history) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.store.Pool().Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

// robots stores rules for an origin, fetched when the history began.
func (h *history) robots(origin string, verdict crawl.RobotsVerdict, rules string) {
	h.t.Helper()
	h.exec(`WITH texts AS (
			INSERT INTO robots_contents (hash, content) VALUES (sha256(convert_to($3, 'UTF8')), convert_to($3, 'UTF8')) ON CONFLICT DO NOTHING
		)
		INSERT INTO robots_history (origin, version, verdict, agent, rules_hash, fetched_at)
		VALUES ($1, $4, $2::text::robots_verdict, 'mosey', sha256(convert_to($3, 'UTF8')), $5)`,
		origin, string(verdict), rules, h.began.UnixMicro(), h.began)
}

// request is one row of the log, at an offset from the beginning.
type request struct {
	url, ip    string
	at         time.Duration
	took       time.Duration
	retryAfter time.Duration
	ipDelay    time.Duration
	subnet     string
	version    int64 // 1 is that of h.robots
	lost       bool
}

func (h *history) page(r request) {
	h.t.Helper()
	u, err := urls.Parse(r.url)
	require.NoError(h.t, err)
	_, err = h.store.AddSeeds(h.t.Context(), h.run.ID, []urls.URL{u})
	require.NoError(h.t, err)
	ended := h.began.Add(r.at + r.took)
	if r.version == 1 {
		r.version = h.began.UnixMicro()
	}
	var after *int64
	if r.retryAfter > 0 {
		ms := r.retryAfter.Milliseconds()
		after = &ms
	}
	h.exec(`UPDATE page_crawls SET
			outcome = 'success', ip = $2::text::inet, robots_version = $3, completed_at = $4, duration_ms = $5,
			delay_ms = $6, delay_reason = 'delay', ip_delay_ms = $7, retry_after_ms = $8, lost = $9,
			subnet = nullif($10, '')::cidr, subnet_delay_ms = $7
		WHERE url = $1`,
		r.url, r.ip, r.version, ended, r.took.Milliseconds(),
		delay.Milliseconds(), r.ipDelay.Milliseconds(), after, r.lost, r.subnet)
}

func (h *history) audit() report.Audit {
	h.t.Helper()
	a, err := audit.Run(h.t.Context(), h.store, nil)
	require.NoError(h.t, err)
	ofRun, err := audit.Run(h.t.Context(), h.store, &h.run.ID)
	require.NoError(h.t, err)
	require.Equal(h.t, a, ofRun, "there is only one run")
	return a
}

func TestRun(t *testing.T) {
	t.Parallel()
	const a, b = "https://a.example/", "https://b.example/"

	t.Run("IsCleanWhereEveryGapWasKept", func(t *testing.T) {
		t.Parallel()
		h := newHistory(t)
		h.robots("https://a.example", crawl.RobotsRules, "User-agent: *\nDisallow: /private\n")
		h.page(request{url: a, ip: "192.0.2.1", took: time.Second, version: 1})
		h.page(request{url: a + "x", ip: "192.0.2.1", at: 11 * time.Second, took: time.Second, version: 1})
		h.page(request{url: a + "y", ip: "192.0.2.1", at: 25 * time.Second, version: 1})
		got := h.audit()
		require.True(t, got.Clean(), "%+v", got)
		require.EqualValues(t, 3, got.Domains.Requests)
		require.EqualValues(t, 2, got.Domains.Gaps)
		require.InDelta(t, 10_000, got.Domains.Min, 0.001)
		require.InDelta(t, 11_500, got.Domains.P50, 0.001)
		require.EqualValues(t, 3, got.RobotsChecked)
	})

	t.Run("MeasuresFromTheEndOfARequest", func(t *testing.T) {
		t.Parallel()
		h := newHistory(t)
		h.robots("https://a.example", crawl.RobotsAllowAll, "")
		h.page(request{url: a, ip: "192.0.2.1", took: 2 * time.Second, version: 1})
		h.page(request{url: a + "x", ip: "192.0.2.1", at: 11 * time.Second, version: 1})
		got := h.audit()
		require.False(t, got.Clean())
		require.EqualValues(t, 1, got.Domains.Violations)
		require.Len(t, got.Violations, 1)
		require.Equal(t, "a.example", got.Violations[0].Key)
		require.Contains(t, got.Violations[0].Description, "requested 9000 ms after the last request, want 10000 ms (delay)")
	})

	t.Run("KeepsDomainsApartAndAddressesTogether", func(t *testing.T) {
		t.Parallel()
		h := newHistory(t)
		h.robots("https://a.example", crawl.RobotsAllowAll, "")
		h.robots("https://b.example", crawl.RobotsAllowAll, "")
		h.page(request{url: a, ip: "192.0.2.1", ipDelay: time.Second, version: 1})
		h.page(request{url: b, ip: "192.0.2.1", at: 999 * time.Millisecond, ipDelay: time.Second, version: 1})
		got := h.audit()
		require.Zero(t, got.Domains.Violations)
		require.EqualValues(t, 1, got.IPs.Violations)
		require.Equal(t, "192.0.2.1", got.Violations[0].Key)
	})

	t.Run("JudgesSubnetsToo", func(t *testing.T) {
		t.Parallel()
		h := newHistory(t)
		h.robots("https://a.example", crawl.RobotsAllowAll, "")
		h.robots("https://b.example", crawl.RobotsAllowAll, "")
		h.page(request{url: a, ip: "192.0.2.1", subnet: "192.0.2.0/24", ipDelay: time.Second, version: 1})
		h.page(request{url: b, ip: "192.0.2.2", subnet: "192.0.2.0/24", at: 999 * time.Millisecond, ipDelay: time.Second, version: 1})
		got := h.audit()
		require.Zero(t, got.IPs.Violations)
		require.EqualValues(t, 1, got.Subnets.Violations)
		require.Equal(t, "192.0.2.0/24", got.Violations[0].Key)
	})

	t.Run("FindsARetryAfterThatWasNotObeyed", func(t *testing.T) {
		t.Parallel()
		h := newHistory(t)
		h.robots("https://a.example", crawl.RobotsAllowAll, "")
		h.page(request{url: a, ip: "192.0.2.1", retryAfter: time.Minute, version: 1})
		h.page(request{url: a + "x", ip: "192.0.2.1", at: 59 * time.Second, version: 1})
		got := h.audit()
		require.Zero(t, got.Domains.Violations)
		require.EqualValues(t, 1, got.RetryAfters)
		require.EqualValues(t, 1, got.RetryAfterViolations)
		require.False(t, got.Clean())
	})

	t.Run("OnlyCountsWhatWasLost", func(t *testing.T) {
		t.Parallel()
		h := newHistory(t)
		h.robots("https://a.example", crawl.RobotsAllowAll, "")
		h.page(request{url: a, ip: "192.0.2.1", took: 45 * time.Second, version: 1, lost: true})
		h.page(request{url: a + "x", ip: "192.0.2.1", at: 45 * time.Second, version: 1})
		got := h.audit()
		require.True(t, got.Clean(), "%+v", got)
		require.EqualValues(t, 1, got.Lost)
	})
}

func TestRobots(t *testing.T) {
	t.Parallel()
	const origin = "https://a.example"
	for name, c := range map[string]struct {
		verdict crawl.RobotsVerdict
		rules   string
		request request
		want    string
	}{
		"Allowed":     {crawl.RobotsRules, "User-agent: *\nDisallow: /private\n", request{url: origin + "/open", version: 1}, ""},
		"Disallowed":  {crawl.RobotsRules, "User-agent: *\nDisallow: /private\n", request{url: origin + "/private", version: 1}, "disallowed by robots.txt"},
		"Unreachable": {crawl.RobotsUnreachable, "", request{url: origin + "/", version: 1}, "robots.txt was unreachable"},
		"Unknown":     {crawl.RobotsAllowAll, "", request{url: origin + "/"}, "without a robots.txt"},
		"Before":      {crawl.RobotsAllowAll, "", request{url: origin + "/", version: 1, at: -time.Second}, "before its robots.txt"},
		"Expired":     {crawl.RobotsAllowAll, "", request{url: origin + "/", version: 1, at: 49 * time.Hour}, "49h0m0s after its robots.txt was read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			h.robots(origin, c.verdict, c.rules)
			c.request.ip = "192.0.2.1"
			h.page(c.request)
			got := h.audit()
			require.EqualValues(t, 1, got.RobotsChecked)
			if c.want == "" {
				require.True(t, got.Clean(), "%+v", got)
				return
			}
			require.EqualValues(t, 1, got.RobotsViolations)
			require.Contains(t, got.Violations[0].Description, c.want)
		})
	}
}

func TestRobotsThatIsNoLongerStored(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.robots("https://a.example", crawl.RobotsRules, "User-agent: *\nDisallow: /\n")
	h.page(request{url: "https://a.example/", ip: "192.0.2.1", version: h.began.Add(-time.Hour).UnixMicro()})
	got := h.audit()
	require.True(t, got.Clean())
	require.Zero(t, got.RobotsChecked)
	require.EqualValues(t, 1, got.RobotsGone)
}

// Requests are judged by the file that was sent, not by the crawler's reading of it,
// which is broken here.
func TestFaultOfTheMatcherShows(t *testing.T) {
	t.Parallel()
	const origin = "https://a.example"
	for name, c := range map[string]struct {
		sent, made string
		forbidden  string
		want       string
	}{
		"CutEscape":     {"User-agent: *\nDisallow: /a%2\n", "User-agent: *\nDisallow: /a%252\n", "/a%2Fb", "line 2: Disallow: /a%2"},
		"BarePercent":   {"User-agent: *\nDisallow: /*%\n", "User-agent: *\nDisallow: /*%25\n", "/a%C3%A9", "line 2: Disallow: /*%"},
		"Group":         {"User-agent: x\nAllow: /\n\nUser-agent: Mosey/1\nDisallow: /a\n", "User-agent: *\nAllow: /\n", "/a", "line 5: Disallow: /a"},
		"Precedence":    {"User-agent: *\nAllow: /a\nDisallow: /a/b\n", "User-agent: *\nAllow: /a\n", "/a/b", "line 3: Disallow: /a/b"},
		"NothingOfIt":   {"User-agent: *\nDisallow: /a\n", "", "/a", "line 2: Disallow: /a"},
		"OwnURL":        {"User-agent: *\nDisallow: http://www.a.example/b\n", "", "/b", "line 2: Disallow: http://www.a.example/b"},
		"NoUTF8AndNULs": {"User-agent: *\nDisallow: /\xff\x00a\nDisallow:\xa0/b\xa0\n", "", "/b", "line 3: Disallow: /b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			// it is stored, confirmed by a 304, and read again as it was
			save := func(r crawl.Robots) crawl.Robots {
				r.Origin, r.Domain, r.Agent, r.Verdict = origin, "a.example", "mosey", crawl.RobotsRules
				r.Lifetime = crawl.Millis(24 * time.Hour)
				_, err := h.store.SaveRobots(t.Context(), r)
				require.NoError(t, err)
				stored, err := h.store.Robots(t.Context(), origin)
				require.NoError(t, err)
				return stored
			}
			first := save(crawl.Robots{Body: []byte(c.sent), Rules: c.made})
			second := save(first)
			require.NotEqual(t, first.Version, second.Version)
			h.began = second.FetchedAt.Add(time.Second)
			h.page(request{url: origin + "/open", ip: "192.0.2.1", version: first.Version})
			h.page(request{url: origin + c.forbidden, ip: "192.0.2.1", at: 20 * time.Second, version: second.Version})
			got := h.audit()
			require.EqualValues(t, 2, got.RobotsChecked)
			require.EqualValues(t, 1, got.RobotsViolations)
			require.Equal(t, "disallowed by robots.txt "+c.want, got.Violations[0].Description)
			require.Equal(t, origin+c.forbidden, got.Violations[0].Key)
		})
	}
}
