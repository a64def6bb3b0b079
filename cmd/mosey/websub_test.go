package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
)

const (
	hubHost     = "hub.example"
	crawlerHost = "crawler.example"
)

// realHub is a hub as W3C WebSub has it: it asks whether a subscription is wanted before it tells of changes.
type realHub struct {
	web.Healthy

	t      *testing.T
	client *http.Client
	mu     sync.Mutex
	// wanted are the subscriptions that were confirmed, by their callbacks.
	wanted map[string]url.Values
}

// newRealHub is a hub that reaches the listener at an address, whatever its name.
func newRealHub(t *testing.T, listener *atomic.Pointer[string]) *realHub {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *listener.Load())
	}}
	return &realHub{t: t, client: &http.Client{Transport: transport, Timeout: 10 * time.Second}, wanted: map[string]url.Values{}}
}

// Serve accepts a subscription, and asks beside whether it is wanted.
func (h *realHub) Serve(v *web.Visit) {
	if v.R.Method != http.MethodPost || v.R.ParseForm() != nil {
		v.W.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	go h.confirm(v.R.PostForm)
	v.W.WriteHeader(http.StatusAccepted)
}

func (h *realHub) confirm(form url.Values) {
	callback := form.Get("hub.callback")
	q := url.Values{
		"hub.mode": form["hub.mode"], "hub.topic": form["hub.topic"], "hub.lease_seconds": form["hub.lease_seconds"], "hub.challenge": {"c1"},
	}
	status, body := h.send(http.MethodGet, callback+"?"+q.Encode(), "", "")
	if status == http.StatusOK && body == "c1" {
		h.mu.Lock()
		h.wanted[callback] = form
		h.mu.Unlock()
	}
}

// publish tells all who want it that a topic has changed, and returns how many those are.
func (h *realHub) publish(topic, body string) (told int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for callback, form := range h.wanted {
		if form.Get("hub.topic") != topic {
			continue
		}
		mac := hmac.New(sha256.New, []byte(form.Get("hub.secret")))
		mac.Write([]byte(body))
		if status, _ := h.send(http.MethodPost, callback, body, "sha256="+hex.EncodeToString(mac.Sum(nil))); status/100 == 2 {
			told++
		}
	}
	return told
}

func (h *realHub) send(method, target, body, signature string) (status int, answer string) {
	r, err := http.NewRequestWithContext(h.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return 0, ""
	}
	if signature != "" {
		r.Header.Set("X-Hub-Signature", signature)
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Error(err)
	}
	return resp.StatusCode, string(data)
}

func (h *realHub) subscriptions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.wanted)
}

// newsFeed is a feed that names the hub, and news once there are some.
type newsFeed struct {
	web.Healthy

	hub  string
	news *atomic.Bool
}

func (f newsFeed) Serve(v *web.Visit) {
	entries := `<entry><link href="/p/1"/></entry>`
	if f.news.Load() {
		entries = `<entry><link href="/news"/></entry>` + entries
	}
	v.W.Header().Set("Content-Type", "application/atom+xml")
	v.Write([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="` + f.hub + `"/>` + entries + `</feed>`))
}

// front is a front page that names a feed.
type front struct{ web.Healthy }

func (front) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html")
	v.Write([]byte(`<title>Front</title><link rel="alternate" type="application/atom+xml" href="/feed"><p>words of a front page</p>`))
}

// A feed's hub is subscribed to in the hub's own turn, and when it tells of a change the feed is asked, and what that
// names. A hub of another host than the feed's is part of the run for that alone.
func TestWebSub(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	var listener atomic.Pointer[string]
	hub := newRealHub(t, &listener)
	feed := newsFeed{news: &atomic.Bool{}}
	paths := map[string]web.Behaviour{"/": front{}, "/feed": &feed}
	s := site{web.StartT(t, web.Options{CrossLinks: -1, Sites: []web.Site{
		{Pages: 2, Plain: true, Paths: paths},
		{Host: hubHost, Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/hub": hub}},
	}})}
	feed.hub = s.URL(hubHost, "/hub")
	up := h.Start(append([]string{"up", "--callback", "http://" + crawlerHost, "--callback-listen", "127.0.0.1:0"}, s.flags()...)...)
	_, at, _ := strings.Cut(up.Field("Owners"), ", from ")
	listener.Store(&at)
	up.Await("Ready.")
	require.NoError(t, h.seed(h.client(), "seed/default/1",
		`{"run":"default","urls":["`+s.URL(siteDomain, "/")+`"],"settings":{"delay":"10ms","latency_factor":0,"when_done":"recrawl","min_refetch":"0s"}}`))

	require.Eventually(t, func() bool { return hub.subscriptions() == 1 }, patience, 50*time.Millisecond, "somebody looks within 15 s")
	var dom report.Domain
	h.Decode(&dom, "domain", siteDomain, "--json")
	require.Len(t, dom.Hubs, 1)
	require.Equal(t, s.URL(hubHost, "/hub"), dom.Hubs[0].Hub)
	output.ContainsOnSameLine(t, h.Print("domain", siteDomain), "hub ", "/hub: it tells of changes until ", "it has told of nothing yet")
	var own report.Domain
	h.Decode(&own, "domain", hubHost, "--json")
	require.Empty(t, own.Hubs)

	require.False(t, s.asked("/news"))
	// a feed is left alone for an hour
	_, err := store.Pool().Exec(t.Context(), "UPDATE pages SET fetched_at = fetched_at - interval '2 hours' WHERE fetched_at IS NOT NULL")
	require.NoError(t, err)
	feed.news.Store(true)
	require.Equal(t, 1, hub.publish(s.URL(siteDomain, "/feed"), "what a hub says is not read"))
	require.Eventually(t, func() bool { return s.asked("/news") }, patience, 50*time.Millisecond)
	output.ContainsOnSameLine(t, h.Print("why", siteDomain), "/hub: it tells of changes until ", "it told last on ")
	output.ContainsOnSameLine(t, h.Print("why", s.URL(siteDomain, "/feed")), "its owner told by WebSub on ")
	require.Zero(t, up.Stop().Code)
	h.Print("audit")
}

// asked reports whether a page of any host was asked for.
func (s site) asked(path string) bool {
	for _, r := range s.Log() {
		if r.Target == path {
			return true
		}
	}
	return false
}
