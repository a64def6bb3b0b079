package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/identity"
	"github.com/mosey-web/mosey/internal/botauth"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/signatures"
)

const signatureAgent = "https://crawler.example.org"

// secretOf is the private part of a key's file, as whoever leaks it may write it.
func secretOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var key struct{ D string }
	require.NoError(t, json.Unmarshal(text, &key))
	seed, err := base64.RawURLEncoding.DecodeString(key.D)
	require.NoError(t, err)
	return []string{key.D, base64.StdEncoding.EncodeToString(seed), string(seed)}
}

func TestIdentity(t *testing.T) {
	t.Parallel()

	t.Run("KeysAreMadeAndShown", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		dir := t.TempDir()
		first, second := filepath.Join(dir, "1.jwk"), filepath.Join(dir, "2.jwk")
		require.Contains(t, h.Print("identity", "keygen", first), "mosey identity directory --sign "+first)
		stat, err := os.Stat(first)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), stat.Mode().Perm())
		before, err := os.ReadFile(first)
		require.NoError(t, err)
		h.Refuse([]string{"identity", "keygen", first}, first, "exists already")
		after, err := os.ReadFile(first)
		require.NoError(t, err)
		require.Equal(t, before, after)

		var made identity.KeyDoc
		h.Decode(&made, "identity", "keygen", second, "--after", "24h", "--json")
		require.WithinDuration(t, time.Now().Add(24*time.Hour), made.From, time.Minute)
		h.Setenv("MOSEY_SIGN", dir)
		body := h.Print("identity", "directory")
		keys, err := signatures.ReadDirectory([]byte(body))
		require.NoError(t, err)
		require.Len(t, keys, 2)
		require.Contains(t, keys, made.KeyID)
		for _, secret := range append(secretOf(t, first), secretOf(t, second)...) {
			require.NotContains(t, body, secret)
		}
	})

	t.Run("TheDirectoryIsSigned", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		key, file := filepath.Join(t.TempDir(), "key.jwk"), filepath.Join(t.TempDir(), "headers")
		h.Print("identity", "keygen", key)
		for _, form := range []string{"architecture-02", "httpsig-protocol-01"} {
			body := h.Print("identity", "directory", "--sign", key, "--signature-agent", signatureAgent, "--sign-form", form, "--headers", file)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(string(text) + "\n"))).ReadMIMEHeader()
			require.NoError(t, err)
			_, err = signatures.VerifyDirectory(http.Header(header), []byte(body), "crawler.example.org", time.Now())
			require.NoError(t, err)
		}
	})

	t.Run("MistakesNameTheRemedy", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		key := filepath.Join(t.TempDir(), "key.jwk")
		h.Print("identity", "keygen", key)
		text, err := os.ReadFile(key)
		require.NoError(t, err)
		crawl := func(args ...string) []string { return append([]string{"crawl", aPage}, args...) }
		h.Refuse(crawl("--sign", key), "--signature-agent", "is missing")
		h.Refuse(crawl("--signature-agent", signatureAgent), "needs --sign")
		h.Refuse(crawl("--sign", key, "--signature-agent", "http://crawler.example.org"), "--signature-agent", "https")
		h.Refuse(crawl("--sign", key, "--signature-agent", signatureAgent, "--sign-form", "newest"), "--sign-form", "architecture-02")
		h.Refuse(crawl("--sign", key+"s", "--signature-agent", signatureAgent), "--sign", key+"s", "no such file")
		h.Refuse([]string{"identity", "directory"}, "--sign", "is missing")
		h.Refuse([]string{"identity", "directory", "--sign", key, "--headers", "x"}, "--signature-agent", "is missing")
		h.Refuse([]string{"identity", "keygen", key + "2", "--after", "-1h"}, "--after")
		r := h.Execute(crawl("--sign", strings.TrimSpace(string(text)), "--signature-agent", "https://us:secret@example.org")...)
		require.Equal(t, 2, r.Code)
		require.NotContains(t, r.Stderr, "secret")
		r = h.Execute(crawl("--sign", strings.TrimSpace(string(text)), "--signature-agent", signatureAgent)...)
		require.Equal(t, 2, r.Code)
		require.Contains(t, r.Stderr, "looks like a key")
		require.NoError(t, os.Chmod(key, 0o644))
		h.Refuse(crawl("--sign", key, "--signature-agent", signatureAgent), "--sign", "chmod 600 "+key)
		for _, secret := range secretOf(t, key) {
			require.NotContains(t, r.Stderr, secret)
		}
	})
}

// doorman answers only those who sign, and keeps who was let in.
type doorman struct {
	keys signatures.Keys

	mu     sync.Mutex
	let    map[string]int // by host and path
	denied []string
}

// forSigned is a behaviour that a doorman keeps.
type forSigned struct {
	*doorman
	web.Behaviour
}

// Serve answers a request that is signed.
func (g forSigned) Serve(v *web.Visit) {
	host, _, _ := net.SplitHostPort(v.R.Host)
	_, err := signatures.Verify(v.R, "http", g.keys, time.Now())
	g.mu.Lock()
	if err != nil {
		g.denied = append(g.denied, v.R.Host+v.R.RequestURI+": "+err.Error())
	} else {
		g.let[host+v.R.RequestURI]++
	}
	g.mu.Unlock()
	if err != nil {
		http.Error(v.W, err.Error(), http.StatusUnauthorized)
		return
	}
	g.Behaviour.Serve(v)
}

// elsewhere redirects to the same page of another host.
type elsewhere struct{ host string }

// Serve redirects.
func (e elsewhere) Serve(v *web.Visit) {
	_, port, _ := net.SplitHostPort(v.R.Host)
	http.Redirect(v.W, v.R, "http://"+net.JoinHostPort(e.host, port)+v.R.RequestURI, http.StatusMovedPermanently)
}

// Truth is where it leads.
func (elsewhere) Truth() web.Truth { return web.Truth{Status: http.StatusMovedPermanently} }

// A crawl signs each request of each kind for the host that it goes to, and its key is nowhere.
func TestCrawlsAreSigned(t *testing.T) {
	t.Parallel()
	for _, form := range []botauth.Form{botauth.FormArchitecture02, botauth.FormProtocol01} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			h, store := newHarnessWithStack(t)
			key := filepath.Join(t.TempDir(), "key.jwk")
			h.Print("identity", "keygen", key)
			keys, err := signatures.ReadDirectory([]byte(h.Print("identity", "directory", "--sign", key)))
			require.NoError(t, err)
			g := &doorman{keys: keys, let: map[string]int{}}
			behind := func(b web.Behaviour) web.Behaviour { return forSigned{g, b} }
			dot := behind(web.Content{Type: "image/png", Body: pngOf(t, painting(64, 64, 1))})
			paths := func() map[string]web.Behaviour {
				return map[string]web.Behaviour{
					"/robots.txt":  behind(web.Content{Type: "text/plain", Body: "User-agent: *\nDisallow: /no\n"}),
					"/sitemap.xml": behind(web.Status{Code: http.StatusNotFound}),
				}
			}
			first := web.Site{Behaviour: behind(web.Healthy{}), Pages: 2, Plain: true, Images: 1, Image: dot, Paths: paths()}
			second := first
			second.Paths = paths()
			second.Paths["/p/2"] = behind(web.Content{Type: "text/html", Body: "<p>The contents of a page.</p>"})
			first.Paths["/p/1"] = behind(elsewhere{"site-002.test"})
			s := site{web.StartT(t, web.Options{Sites: []web.Site{first, second}, CrossLinks: -1})}

			h.Setenv("MOSEY_SIGN", key)
			r := h.Execute(s.crawl(append(s.Seeds(), "--signature-agent", signatureAgent, "--sign-form", string(form),
				"--images", "metadata", "--log-level", "debug", "--log-format", "json",
				"--set", "pages_per_activity=1")...)...) // a history names each page, also on a busy machine
			require.Zero(t, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, `"requests are signed"`)
			require.Empty(t, g.denied)
			for _, host := range s.Hosts() {
				for _, path := range []string{"/robots.txt", "/sitemap.xml", "/", "/p/1", "/p/2"} {
					require.Contains(t, g.let, host+path)
				}
			}
			require.Contains(t, g.let, "site-002.test/image/1")

			text, events := stored(t, h.client(), h.environ.Get("TEMPORAL_NAMESPACE"))
			require.Positive(t, events)
			require.Contains(t, text, "/p/2")
			require.NotContains(t, text, "The contents of a page")
			tables, err := store.Pool().Query(t.Context(),
				"SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
			require.NoError(t, err)
			var names []string
			for tables.Next() {
				var name string
				require.NoError(t, tables.Scan(&name))
				names = append(names, name)
			}
			require.NoError(t, tables.Err())
			require.Greater(t, len(names), 10)
			var all strings.Builder
			all.WriteString(text + r.Stderr + r.Stdout)
			for _, name := range names {
				var rows string
				require.NoError(t, store.Pool().QueryRow(t.Context(), `SELECT coalesce(string_agg(t::text, ' '), '') FROM "`+name+`" t`).Scan(&rows))
				all.WriteString(rows)
			}
			require.Contains(t, all.String(), s.Seeds()[1]+"p/1", "the rows are here")
			for _, secret := range secretOf(t, key) {
				require.NotContains(t, all.String(), secret)
			}
		})
	}
}
