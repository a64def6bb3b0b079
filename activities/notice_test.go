package activities_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/notify"
	"github.com/mosey-web/mosey/manners/web"
)

const (
	pingKey  = "0123456789abcdef"
	pingFile = "/" + pingKey + ".txt"
)

// listener is the public listener beside the worker of a test.
type listener struct {
	*testBundle

	server *httptest.Server
	peers  int
}

// listening is a site that a run has crawled and crawls again, and a listener.
func listening(t *testing.T, set settings.Settings, paths map[string]web.Behaviour) *listener {
	t.Helper()
	set.WhenDone = new(settings.WhenDoneRecrawl)
	all := map[string]web.Behaviour{
		"/": page{body: `<a href="/a">a</a><a href="/b">b</a>`}, "/a": page{body: "a"}, "/b": page{body: "b"}, "/new": page{body: "new"},
	}
	maps.Copy(all, paths)
	b := setup(t, options{settings: set, sites: []web.Site{{Pages: -1, Plain: true, Paths: all}, {Pages: -1, Plain: true}}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	require.Equal(t, 3, b.round(t))
	b.passes(t, 48*time.Hour)
	b.exec(t, "UPDATE domains SET recrawl = recrawl - 'plan'") // the rule decides
	return b.listen(t)
}

func (b *testBundle) listen(t *testing.T) *listener {
	t.Helper()
	store, err := db.OpenNotices(t.Context(), b.url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	s, err := notify.New(notify.Config{Store: store, URL: "https://crawler.example", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	handler, err := s.Handler()
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		s.Close()
	})
	return &listener{testBundle: b, server: server}
}

// host is the site's, with its port.
func (l *listener) host() string {
	return strings.TrimSuffix(strings.TrimPrefix(l.page("/"), "http://"), "/")
}

// send makes a request as somebody else than before.
func (l *listener) send(t *testing.T, method, target string, body io.Reader) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, l.server.URL+target, body)
	require.NoError(t, err)
	l.peers++
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", l.peers/250, l.peers%250))
	resp, err := l.server.Client().Do(r)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(data)
}

// ping tells of one page by a GET.
func (l *listener) ping(t *testing.T, target string, more ...string) int {
	t.Helper()
	q := url.Values{"url": {l.page(target)}, "key": {pingKey}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	status, _ := l.send(t, http.MethodGet, "/indexnow?"+q.Encode(), nil)
	return status
}

// post tells of pages by a POST.
func (l *listener) post(t *testing.T, target string, doc map[string]any) (status int, text string) {
	t.Helper()
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	return l.send(t, http.MethodPost, target, bytes.NewReader(data))
}

// apply has notices carried out.
func (l *listener) apply(t *testing.T) int {
	t.Helper()
	n, err := l.store.ApplyNotices(t.Context())
	require.NoError(t, err)
	return n
}

func (l *listener) asked() []string { return l.targets()[3:] }

func TestIndexNow(t *testing.T) {
	t.Parallel()

	t.Run("HasPagesComeEarlier", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey + "\n")})
		require.Equal(t, http.StatusAccepted, l.ping(t, "/a"))
		require.Equal(t, http.StatusAccepted, l.ping(t, "/new"))
		require.Empty(t, l.asked(), "the listener asks for nothing")
		require.Zero(t, l.apply(t), "nothing is believed yet")
		require.InDelta(t, 5, l.dueIn(t, "/a"), 0.01)

		require.Equal(t, 1, l.round(t))
		require.Equal(t, []string{pingFile}, l.asked(), "the key file is a request as any other")
		report := l.report(t, pingFile)
		require.Equal(t, crawl.OutcomeSuccess, report.Crawls[0].Outcome)
		require.EqualValues(t, "key", report.Crawls[0].Kind)
		require.Zero(t, l.count(t, "SELECT count(*) FROM run_domains WHERE pages_started <> 3"), "it costs no budget of pages")

		require.Equal(t, 2, l.apply(t))
		require.Negative(t, l.dueIn(t, "/a"))
		require.InDelta(t, 5, l.dueIn(t, "/b"), 0.01)
		require.Zero(t, l.apply(t), "once")
		l.exec(t, "UPDATE pages SET content_hash = substr(sha256('another'), 1, octet_length(content_hash)) WHERE url = $1", l.page("/a"))
		l.round(t)
		l.round(t)
		require.ElementsMatch(t, []string{pingFile, "/a", "/new"}, l.asked())

		told := l.report(t, "/a")
		require.Equal(t, "indexnow", told.ToldBy)
		require.WithinDuration(t, time.Now(), told.ToldAt, time.Minute)
		require.NotZero(t, l.report(t, "/new").ToldAt)
		require.Zero(t, l.report(t, "/b").ToldAt)
		dom, err := l.store.Domain(t.Context(), l.site)
		require.NoError(t, err)
		require.Len(t, dom.Notices, 1)
		require.Equal(t, crawl.NoticeVerified, dom.Notices[0].State)

		require.Equal(t, http.StatusOK, l.ping(t, "/b"), "the key is known now")
		l.exec(t, "UPDATE domains SET recrawl = recrawl - 'plan'")
		require.Equal(t, 1, l.apply(t))
		require.Negative(t, l.dueIn(t, "/b"))
	})

	t.Run("NeverBeforeMinRefetch", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{MinRefetch: new(settings.Duration(72 * time.Hour))}, map[string]web.Behaviour{pingFile: text(pingKey)})
		l.ping(t, "/a")
		l.round(t)
		require.Equal(t, 1, l.apply(t))
		require.InDelta(t, 1, l.dueIn(t, "/a"), 0.01)
	})

	t.Run("IsBelievedAsFarAsItWasRight", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		for range 4 {
			l.ping(t, "/a")
			l.round(t)
			l.apply(t)
			l.exec(t, "UPDATE revisits SET due_at = now() WHERE page_id = (SELECT id FROM pages WHERE url = $1)", l.page("/a"))
			l.round(t)
			l.passes(t, 48*time.Hour)
			l.exec(t, "UPDATE domains SET recrawl = recrawl - 'plan'")
		}
		var pings string
		require.NoError(t, l.store.Pool().QueryRow(t.Context(), "SELECT recrawl ->> 'pings' FROM domains WHERE domain = $1", l.site).Scan(&pings))
		require.Contains(t, pings, `"alarms": 3.`)
		before := l.dueIn(t, "/a")
		l.ping(t, "/a")
		l.apply(t)
		require.InDelta(t, before, l.dueIn(t, "/a"), 0.01, "it has not changed four times")
		require.Greater(t, before, 1.0)
	})

	t.Run("OfAHostInTwoRuns", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		other := l.inRun(t, "another", settings.Settings{WhenDone: new(settings.WhenDoneRecrawl), MaxDepth: new(0)})
		other.exec(t, `INSERT INTO run_domains (run_id, domain, seed) VALUES ($1, $2, true)`, other.run.ID, l.site)
		other.exec(t, `INSERT INTO revisits (page_id, run_id, due_at, every)
			SELECT id, $1, now() + interval '9 days', interval '9 days' FROM pages WHERE url = $2`, other.run.ID, l.page("/a"))
		l.ping(t, "/a")
		l.ping(t, "/new")
		l.round(t)
		require.Equal(t, 3, l.apply(t), "a page in both, and one that the depth of the other leaves out")
		require.Equal(t, 2, l.count(t, "SELECT count(*) FROM revisits WHERE due_at < now()"))
		require.Equal(t, 1, l.count(t, "SELECT count(*) FROM page_crawls WHERE url = $1", l.page("/new")))
		require.Equal(t, 1, l.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'key'"), "one request for both")
	})
}

func TestKeyFilesThatProveNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paths map[string]web.Behaviour
		why   string
	}{
		"Missing":            {nil, "404"},
		"AnotherKey":         {map[string]web.Behaviour{pingFile: text("fedcba9876543210")}, "does not have the key"},
		"TheKeyWithinALine":  {map[string]web.Behaviour{pingFile: text("no such file: " + pingKey)}, "does not have the key"},
		"APageInItsPlace":    {map[string]web.Behaviour{pingFile: page{body: "\n" + pingKey + "\n"}}, "text/html"},
		"ARedirectElsewhere": {map[string]web.Behaviour{pingFile: web.Redirect{To: "http://evil.test/" + pingKey + ".txt"}}, "redirects"},
		"ARedirectNearby":    {map[string]web.Behaviour{pingFile: web.Redirect{To: "/key.txt"}, "/key.txt": text(pingKey)}, "redirects"},
		"Forbidden":          {map[string]web.Behaviour{pingFile: web.Status{Code: http.StatusForbidden}}, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listening(t, settings.Settings{MaxAttempts: new(1)}, c.paths)
			require.Equal(t, http.StatusAccepted, l.ping(t, "/a"))
			l.round(t)
			require.Equal(t, []string{pingFile}, l.asked(), "and nothing else")
			require.Zero(t, l.apply(t))
			require.InDelta(t, 5, l.dueIn(t, "/a"), 0.01)
			require.Zero(t, l.count(t, "SELECT count(*) FROM notices"))
			status, body := l.post(t, "/api/recrawl", map[string]any{"host": l.host(), "key": pingKey, "urls": []string{l.page("/a")}})
			require.Equal(t, http.StatusForbidden, status, body)
			var answer struct {
				KeyFile string    `json:"key_file"`
				Proof   string    `json:"proof"`
				Why     string    `json:"why"`
				Until   time.Time `json:"until"`
				Taken   int       `json:"taken"`
			}
			require.NoError(t, json.Unmarshal([]byte(body), &answer))
			require.Equal(t, "refused", answer.Proof)
			require.Equal(t, l.page(pingFile), answer.KeyFile)
			require.Contains(t, answer.Why, c.why)
			require.Zero(t, answer.Taken)
			require.WithinDuration(t, time.Now().Add(time.Hour), answer.Until, time.Minute)
			require.Equal(t, http.StatusForbidden, l.ping(t, "/a"))
		})
	}
	t.Run("Disallowed", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		_, err := l.store.SaveRobots(t.Context(), crawl.Robots{
			Origin: originOf(t, l.page("/")), Domain: l.site, Agent: agent, Verdict: crawl.RobotsRules,
			Rules: "User-agent: *\nDisallow: " + pingFile, Fresh: crawl.Millis(time.Hour),
		})
		require.NoError(t, err)
		l.ping(t, "/a")
		l.round(t)
		require.Empty(t, l.asked(), "robots.txt holds for key files, too")
		require.Equal(t, http.StatusForbidden, l.ping(t, "/a"))
	})
}

func TestPingsOfWhatPeopleHaveStopped(t *testing.T) {
	t.Parallel()
	for _, kind := range []crawl.ControlType{crawl.ControlBlock, crawl.ControlStop} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
			require.Equal(t, http.StatusAccepted, l.ping(t, "/a"))
			l.round(t)
			require.NoError(t, l.control(l.site, kind, nil))
			require.Zero(t, l.apply(t), "though its key is verified")
			require.Zero(t, l.count(t, "SELECT count(*) FROM notices"))
			require.Equal(t, http.StatusAccepted, l.ping(t, "/new"))
			require.Zero(t, l.count(t, "SELECT count(*) FROM notices"))
			require.InDelta(t, 5, l.dueIn(t, "/a"), 0.01)
		})
	}
	t.Run("Paused", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		require.NoError(t, l.control(l.site, crawl.ControlPause, nil))
		l.ping(t, "/a")
		l.round(t)
		require.Empty(t, l.asked())
		err := l.store.LiftControls(t.Context(), l.site, "a test", crawl.ControlPause)
		require.NoError(t, err)
		l.round(t)
		require.Equal(t, []string{pingFile}, l.asked(), "it has waited")
		require.Equal(t, 1, l.apply(t))
	})
	t.Run("Forgotten", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		l.ping(t, "/a")
		require.NoError(t, l.store.BlockToForget(t.Context(), l.site, crawl.Control{Type: crawl.ControlBlock, Reason: "asked to", SetBy: "a test"}))
		require.Zero(t, l.count(t, "SELECT count(*) FROM notice_keys")+l.count(t, "SELECT count(*) FROM notices"))
	})
	t.Run("ThePausedRun", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		l.exec(t, "UPDATE crawl_runs SET status = 'paused'")
		l.ping(t, "/a")
		require.Zero(t, l.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'key'"), "nobody could ask for it")
		l.exec(t, "UPDATE crawl_runs SET status = 'running'")
		l.apply(t)
		l.round(t)
		require.Equal(t, []string{pingFile}, l.asked())
	})
}

func TestAWorkerDiesBetweenAPingAndItsProof(t *testing.T) {
	t.Parallel()
	l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
	l.ping(t, "/a")
	// the worker that asks for the key file never comes back
	_, err := l.store.ClaimDomains(t.Context(), l.run.ID, 100)
	require.NoError(t, err)
	facts, err := l.store.Facts(t.Context(), l.site)
	require.NoError(t, err)
	c := facts.Runs[0].Crawl
	l.begin(t, crawl.Start{
		CrawlID: c.ID, RunID: l.run.ID, Domain: l.site, Origin: c.Origin, URL: c.URL, Kind: c.Kind, RetryPriority: new(0), Hold: crawl.Millis(time.Minute),
	})
	l.apply(t)
	require.Equal(t, 1, l.count(t, "SELECT count(*) FROM notices"))
	l.exec(t, "UPDATE politeness_slots SET free_at = now() - interval '1 minute'")
	l.exec(t, "UPDATE domains SET claimed_by = NULL, claim_expires_at = NULL")
	_, err = l.store.Next(t.Context(), l.site)
	require.NoError(t, err)
	l.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
	l.exec(t, "UPDATE run_domains SET next_due_at = now()")
	l.round(t)
	require.Equal(t, []string{pingFile}, l.asked())
	// and who would have carried the notice out has died as well: it is a row still
	require.Equal(t, 1, l.count(t, "SELECT count(*) FROM notices"))
	require.Equal(t, 1, l.apply(t))
	require.Negative(t, l.dueIn(t, "/a"))
}

func TestRecrawlOfAnOwner(t *testing.T) {
	t.Parallel()
	l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
	ask := func() (int, map[string]any) {
		status, body := l.post(t, "/api/recrawl", map[string]any{"host": l.host(), "key": pingKey, "urls": []string{l.page("/a"), l.page("/b")}})
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
		return status, answer
	}
	status, answer := ask()
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "waiting", answer["proof"])
	require.NotContains(t, answer, "earliest", "who has proven nothing is told nothing")
	l.round(t)
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	l.exec(t, "UPDATE politeness_slots SET free_at = $1 WHERE key = $2", until, "domain:"+l.site)
	status, answer = ask()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "verified", answer["proof"])
	require.EqualValues(t, 2, answer["taken"])
	earliest, err := time.Parse(time.RFC3339Nano, answer["earliest"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, until, earliest, time.Second)
	require.Equal(t, 2, l.apply(t))
	require.Equal(t, "recrawl", l.report(t, "/b").ToldBy)

	for body, want := range map[string]int{
		"": http.StatusBadRequest, "{": http.StatusBadRequest, `[]`: http.StatusBadRequest, `{"host": 1}`: http.StatusBadRequest,
		`{"host": "a.example", "key": "12345678", "urls": "x"}`: http.StatusBadRequest, `{}`: http.StatusBadRequest,
	} {
		status, text := l.send(t, http.MethodPost, "/api/recrawl", strings.NewReader(body))
		require.Equal(t, want, status, body)
		require.Contains(t, text, `"error"`)
	}
}
