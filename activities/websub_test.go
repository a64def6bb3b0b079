package activities_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

const callbackURL = "https://crawler.example"

// hub is a hub that keeps what it is asked, and answers with a status.
type hub struct {
	web.Healthy

	status   int
	location string
	// repeats says that it answers with what it was sent.
	repeats bool
	mu      sync.Mutex
	forms   []url.Values
}

func (h *hub) Serve(v *web.Visit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.R.Method == http.MethodPost && v.R.ParseForm() == nil {
		h.forms = append(h.forms, v.R.PostForm)
	}
	if h.location != "" {
		v.W.Header().Set("Location", h.location)
	}
	v.W.Header().Set("Content-Type", "text/plain")
	v.W.WriteHeader(h.status)
	if h.repeats {
		v.Write([]byte(v.R.PostForm.Encode()))
	}
	v.Write([]byte("so it is\n"))
}

func (h *hub) asked() []url.Values {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.forms
}

// rss is a feed. Each of its %s is the origin of a host of the web: the hub's.
type rss struct {
	web.Healthy

	web    **web.Web
	during *atomic.Pointer[func()]
	broken *atomic.Bool
	hub    int
	target string
	header bool
	// forbids says that its publisher wants it in no search.
	forbids bool
}

func (f rss) Serve(v *web.Visit) {
	if during := f.during.Load(); during != nil {
		(*during)()
	}
	if f.broken.Load() {
		v.W.Header().Set("Content-Type", "application/rss+xml")
		v.Write([]byte("no feed"))
		return
	}
	hub := ""
	if f.target != "" {
		hub = (*f.web).URL((*f.web).Hosts()[f.hub], f.target)
	}
	link := ""
	if hub != "" && f.header {
		v.W.Header().Add("Link", fmt.Sprintf("<%s>; rel=\"hub\"", hub))
		v.W.Header().Add("Link", "</feed?own>; rel=self")
	} else if hub != "" {
		link = fmt.Sprintf(`<atom:link rel="hub" href="%s"/>`, hub)
	}
	if f.forbids {
		v.W.Header().Set("Content-Signal", "search=no")
	}
	v.W.Header().Set("Content-Type", "application/rss+xml")
	v.Write([]byte(`<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>A</title>` + link +
		`<item><link>/a</link></item></channel></rss>`))
}

// subscriber is a listener with a site that has a feed, and two hosts that may be hubs.
type subscriber struct {
	*listener

	hub, second *hub
	// during is what happens while the feed is read.
	during *atomic.Pointer[func()]
	// broken has another text come in place of the feed.
	broken *atomic.Bool
}

// subscribing is a site whose feed a run has crawled and crawls again.
func subscribing(t *testing.T, feed rss, paths map[string]web.Behaviour) *subscriber {
	t.Helper()
	var w *web.Web
	feed.web = &w
	if feed.hub == 0 {
		feed.hub = 1
	}
	s := &subscriber{
		hub: &hub{status: http.StatusAccepted}, second: &hub{status: http.StatusAccepted}, during: &atomic.Pointer[func()]{},
		broken: &atomic.Bool{},
	}
	feed.during, feed.broken = s.during, s.broken
	all := map[string]web.Behaviour{
		"/":     page{head: `<link rel="alternate" type="application/rss+xml" href="/feed">`, body: `front`},
		"/feed": feed, "/feed?own": feed, "/a": page{body: "a"},
	}
	maps.Copy(all, paths)
	b := setup(t, options{
		settings: settings.Settings{WhenDone: new(settings.WhenDoneRecrawl), Feeds: new(true)},
		sites: []web.Site{
			{Pages: -1, Plain: true, Paths: all},
			{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/hub": s.hub}},
			{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/hub": s.second}},
		},
	})
	w = b.web
	for i := range 3 {
		b.allowAll(t, b.web.URL(b.web.Hosts()[i], "/"))
	}
	told, err := b.store.ListenerHere(t.Context(), callbackURL)
	require.NoError(t, err)
	require.Equal(t, callbackURL, told)
	b.seed(t, "/")
	asked := map[bool]int{false: 3, true: 2}[feed.forbids] // what it names, too
	require.Equal(t, asked, b.round(t), "the front page, and its feed")
	s.listener = b.listen(t)
	return s
}

// look has the reconciling process look, and returns how many hubs are asked.
func (s *subscriber) look(t *testing.T) (sooner, asked int) {
	t.Helper()
	sooner, asked, err := s.store.ApplyPushes(t.Context())
	require.NoError(t, err)
	return sooner, asked
}

// roundOf crawls a host of the web.
func (s *subscriber) roundOf(t *testing.T, host int) int {
	t.Helper()
	b := *s.testBundle
	b.site = b.web.Hosts()[host]
	return b.round(t)
}

// readAgain has the feed read, as if it had changed.
func (s *subscriber) readAgain(t *testing.T) {
	t.Helper()
	s.exec(t, "UPDATE pages SET content_hash = NULL, extractor = NULL")
	s.passes(t, 48*time.Hour)
	require.Positive(t, s.round(t))
	require.Contains(t, s.asked(), "/feed")
}

// changes has the feed change and be visited so often, two days apart. The first visit follows the one before the
// subscription. Before each visit comes what the hub does.
func (s *subscriber) changes(t *testing.T, times int, before func()) {
	t.Helper()
	for visit := range times {
		s.passes(t, 48*time.Hour)
		s.exec(t, "UPDATE websub_subscriptions SET active_since = active_since - interval '48 hours' WHERE $1 > 0", visit)
		s.exec(t, "UPDATE pages SET content_hash = substr(sha256('another'), 1, octet_length(content_hash))")
		before()
		require.Positive(t, s.round(t))
	}
}

func (s *subscriber) state(t *testing.T) report.Hub {
	t.Helper()
	dom, err := s.store.Domain(t.Context(), s.site)
	require.NoError(t, err)
	require.Len(t, dom.Hubs, 1)
	return dom.Hubs[0]
}

// confirm asks as the hub does whether it is to tell.
func (s *subscriber) confirm(t *testing.T, form url.Values, more ...string) (status int, body string) {
	t.Helper()
	q := url.Values{"hub.mode": {"subscribe"}, "hub.topic": form["hub.topic"], "hub.challenge": {"a<b>c"}, "hub.lease_seconds": {"864000"}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return s.send(t, http.MethodGet, strings.TrimPrefix(form.Get("hub.callback"), callbackURL)+"?"+q.Encode(), nil)
}

// tell sends what the hub does, signed.
func (s *subscriber) tell(t *testing.T, form url.Values, method string, with func() hash.Hash, secret string) int {
	t.Helper()
	mac := hmac.New(with, []byte(secret))
	mac.Write([]byte("the feed"))
	return s.tellSigned(t, form, method+"="+hex.EncodeToString(mac.Sum(nil)))
}

func (s *subscriber) tellSigned(t *testing.T, form url.Values, header string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		s.server.URL+strings.TrimPrefix(form.Get("hub.callback"), callbackURL), strings.NewReader("the feed"))
	require.NoError(t, err)
	if header != "" {
		r.Header.Set("X-Hub-Signature", header)
	}
	resp, err := s.server.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// told reports whether something waits that the hub has told.
func (s *subscriber) told(t *testing.T) bool {
	t.Helper()
	return s.count(t, "SELECT count(*) FROM websub_subscriptions WHERE told_at IS NOT NULL") == 1
}

// subscribed has the hub asked, and confirms.
func (s *subscriber) subscribed(t *testing.T) url.Values {
	t.Helper()
	_, asked := s.look(t)
	require.Equal(t, 1, asked)
	require.Equal(t, 1, s.roundOf(t, 1))
	forms := s.hub.asked()
	form := forms[len(forms)-1]
	status, body := s.confirm(t, form)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "a<b>c", body)
	return form
}

func TestWebSub(t *testing.T) {
	t.Parallel()

	t.Run("AFeedsHubTellsOfItsChanges", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		require.Equal(t, crawl.SubscriptionWanted, s.state(t).State)
		_, asked := s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, crawl.SubscriptionAsking, s.state(t).State)
		require.Empty(t, s.hub.asked(), "it is asked in its turn")
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Len(t, s.hub.asked(), 1)
		form := s.hub.asked()[0]
		require.Equal(t, []string{"subscribe"}, form["hub.mode"])
		require.Equal(t, []string{s.page("/feed")}, form["hub.topic"])
		require.Equal(t, []string{"864000"}, form["hub.lease_seconds"])
		require.Regexp(t, `^https://crawler\.example/websub/[0-9a-f]{64}$`, form.Get("hub.callback"))
		require.Regexp(t, `^[0-9a-f]{64}$`, form.Get("hub.secret"))
		require.Equal(t, crawl.SubscriptionAsked, s.state(t).State)
		require.Zero(t, s.count(t, "SELECT count(*) FROM run_domains WHERE pages_started <> CASE domain WHEN $1 THEN 2 ELSE 0 END", s.site),
			"it costs no budget of pages")

		status, _ := s.confirm(t, form, "hub.topic", s.page("/other"))
		require.Equal(t, http.StatusNotFound, status)
		status, _ = s.confirm(t, form, "hub.mode", "unsubscribe")
		require.Equal(t, http.StatusNotFound, status, "nobody has wanted that")
		status, body := s.confirm(t, form)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "a<b>c", body)
		require.Equal(t, crawl.SubscriptionActive, s.state(t).State)
		require.InDelta(t, 10*24, time.Until(s.state(t).LeaseUntil).Hours(), 0.1)

		s.passes(t, 2*time.Hour)
		require.InDelta(t, 22.0/24, s.dueIn(t, "/feed"), 0.01)
		require.Equal(t, http.StatusNoContent, s.tell(t, form, "sha256", sha256.New, form.Get("hub.secret")))
		require.True(t, s.told(t))
		sooner, _ := s.look(t)
		require.Equal(t, 1, sooner)
		require.False(t, s.told(t))
		require.Negative(t, s.dueIn(t, "/feed"))
		require.Equal(t, 1, s.round(t))
		require.Equal(t, "/feed", s.pages()[len(s.pages())-1])
		require.Equal(t, "websub", recrawledBy(t, s, "/feed"))
	})

	t.Run("OnlyWhatIsSignedCounts", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		secret := form.Get("hub.secret")
		for _, header := range []string{"", "sha256", "sha256=zz", "md5=d41d8cd98f00b204e9800998ecf8427e", "sha256=" + strings.Repeat("0", 64)} {
			require.Equal(t, http.StatusNoContent, s.tellSigned(t, form, header), "who guesses is told nothing")
			require.False(t, s.told(t), header)
		}
		require.Equal(t, http.StatusNoContent, s.tell(t, form, "sha256", sha256.New, "another"))
		require.False(t, s.told(t))
		for method, with := range map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "SHA384": sha512.New384, "sha512": sha512.New} {
			require.Equal(t, http.StatusNoContent, s.tell(t, form, method, with, secret))
			require.True(t, s.told(t), method)
			s.exec(t, "UPDATE websub_subscriptions SET told_at = NULL")
		}
		unknown := url.Values{"hub.callback": {callbackURL + "/websub/" + strings.Repeat("0", 64)}, "hub.topic": form["hub.topic"]}
		require.Equal(t, http.StatusGone, s.tell(t, unknown, "sha256", sha256.New, secret))
		status, _ := s.confirm(t, unknown)
		require.Equal(t, http.StatusNotFound, status)
		status, _ = s.confirm(t, form, "hub.challenge", strings.Repeat("x", 1025))
		require.Equal(t, http.StatusNotFound, status)
	})

	t.Run("TheHeaderComesBeforeTheFeed", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub", header: true}, nil)
		require.Equal(t, s.page("/feed?own"), s.state(t).Topic)
	})

	t.Run("OfAListenerThatIsNotThereNobodyIsAsked", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "UPDATE listener SET seen_at = seen_at - interval '11 minutes'")
		_, asked := s.look(t)
		require.Zero(t, asked)
		other, err := s.store.ListenerHere(t.Context(), "https://other.example")
		require.NoError(t, err)
		require.Equal(t, "https://other.example", other, "the other has gone")
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now()")
		_, asked = s.look(t)
		require.Equal(t, 1, asked)
		other, err = s.store.ListenerHere(t.Context(), callbackURL)
		require.NoError(t, err)
		require.Equal(t, "https://other.example", other, "the first counts")
	})

	t.Run("WithoutAListenerNothingIsKept", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		s.exec(t, "DELETE FROM websub_subscriptions")
		s.exec(t, "DELETE FROM listener")
		s.exec(t, "UPDATE pages SET content_hash = NULL, extractor = NULL")
		s.passes(t, 48*time.Hour)
		s.round(t)
		require.Zero(t, s.count(t, "SELECT count(*) FROM websub_subscriptions"))
	})

	t.Run("ALeaseIsRenewed", func(t *testing.T) {
		t.Parallel()
		s := subscribing(t, rss{target: "/hub"}, nil)
		form := s.subscribed(t)
		_, asked := s.look(t)
		require.Zero(t, asked, "it has just begun")
		s.exec(t, "UPDATE websub_subscriptions SET next_at = now(), lease_until = now() + interval '1 day'")
		_, asked = s.look(t)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, s.roundOf(t, 1))
		require.Equal(t, form, s.hub.asked()[1], "the same subscription")
		require.Equal(t, http.StatusNoContent, s.tell(t, form, "sha1", sha1.New, form.Get("hub.secret")), "it goes on meanwhile")
		require.True(t, s.told(t))
		since := s.count(t, "SELECT extract(EPOCH FROM active_since)::bigint FROM websub_subscriptions")
		status, _ := s.confirm(t, form, "hub.lease_seconds", "99999999")
		require.Equal(t, http.StatusOK, status)
		require.InDelta(t, 30*24, time.Until(s.state(t).LeaseUntil).Hours(), 0.1)
		require.Equal(t, since, s.count(t, "SELECT extract(EPOCH FROM active_since)::bigint FROM websub_subscriptions"))
	})
}

// recrawledBy is how a page was said to have changed last.
func recrawledBy(t *testing.T, s *subscriber, path string) (by string) {
	t.Helper()
	require.NoError(t, s.store.Pool().QueryRow(t.Context(),
		"SELECT coalesce(history #>> '{push,by}', '') FROM pages WHERE url = $1", s.page(path)).Scan(&by))
	return by
}
