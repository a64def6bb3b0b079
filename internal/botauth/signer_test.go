package botauth_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/internal/botauth"
	"github.com/mosey-web/mosey/test/signatures"
)

const agent = "https://crawler.example.org"

// clock is one that a test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// world is a folder of keys, a signer of them, and what it logs.
type world struct {
	*testing.T
	*botauth.Signer

	dir   string
	clock *clock
	log   *bytes.Buffer
}

// newWorld makes one with a key.
func newWorld(t *testing.T, form botauth.Form) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), clock: &clock{time.Now()}, log: new(bytes.Buffer)}
	w.key("1.jwk", w.clock.Time)
	var err error
	w.Signer, err = botauth.New(botauth.Config{
		Path: w.dir, Agent: agent, Form: form, Now: w.clock.now, Logger: slog.New(slog.NewJSONHandler(w.log, nil)),
	})
	require.NoError(t, err)
	return w
}

// key makes a key and returns its keyid.
func (w *world) key(name string, from time.Time) string {
	w.Helper()
	text, key, err := botauth.NewKeyFile(from)
	require.NoError(w, err)
	w.write(name, string(text))
	return key.ID
}

func (w *world) write(name, text string) {
	w.Helper()
	require.NoError(w, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600))
}

// keys returns the keys of the directory.
func (w *world) keys() signatures.Keys {
	w.Helper()
	body, err := botauth.Directory(w.dir, w.clock.Time)
	require.NoError(w, err)
	keys, err := signatures.ReadDirectory(body)
	require.NoError(w, err)
	return keys
}

// signed returns a signed request as a server receives it.
func (w *world) signed(target string) *http.Request {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), http.MethodGet, target, http.NoBody)
	r.RequestURI = r.URL.RequestURI()
	require.NoError(w, w.Sign(r))
	return r
}

// verify verifies a request at the world's time.
func (w *world) verify(r *http.Request) (signatures.Verified, error) {
	return signatures.Verify(r, "https", w.keys(), w.clock.Time)
}

var forms = []botauth.Form{botauth.FormArchitecture02, botauth.FormProtocol01}

func TestSign(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, form)
			v, err := w.verify(w.signed("https://Site.example:443/a?b=1"))
			require.NoError(t, err)
			require.Equal(t, w.Current(), v.KeyID)
			require.Equal(t, w.Agent(), v.Agent)
			require.Equal(t, botauth.Lifetime, v.Expires.Sub(v.Created))
			other, err := w.verify(w.signed("https://site.example/a?b=1"))
			require.NoError(t, err)
			require.NotEqual(t, v.Nonce, other.Nonce)
			if form == botauth.FormArchitecture02 {
				require.Equal(t, agent, v.Agent)
				require.Equal(t, []string{`"@authority"`, `"signature-agent"`}, v.Covers)
				return
			}
			require.Equal(t, agent+botauth.DirectoryPath, v.Agent)
			require.Equal(t, []string{`"@authority"`, `"@method"`, `"@path"`, `"signature-agent";key="sig1"`}, v.Covers)
			r := w.signed("https://site.example/a")
			r.RequestURI = "/b"
			_, err = w.verify(r)
			require.ErrorContains(t, err, "does not fit", "another page")
		})
	}
}

func TestVerifiersRefuse(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		for name, c := range map[string]struct {
			spoil func(w *world, r *http.Request)
			want  string
		}{
			"AnotherAuthority": {func(_ *world, r *http.Request) { r.Host = "other.example" }, "does not fit"},
			"AnExpiredOne":     {func(w *world, _ *http.Request) { w.clock.Time = w.clock.Add(botauth.Lifetime) }, "expired"},
			"OneOfTheFuture":   {func(w *world, _ *http.Request) { w.clock.Time = w.clock.Add(-time.Hour) }, "future"},
			"AnotherAgent": {func(_ *world, r *http.Request) {
				r.Header.Set("Signature-Agent", strings.ReplaceAll(r.Header.Get("Signature-Agent"), "crawler", "famous"))
			}, "does not fit"},
			"AnUnknownKey": {func(w *world, _ *http.Request) { w.key("1.jwk", w.clock.Time) }, "not known"},
			"AnotherKey": {func(w *world, r *http.Request) {
				id := w.key("2.jwk", w.clock.Time)
				r.Header.Set("Signature-Input", strings.ReplaceAll(r.Header.Get("Signature-Input"), w.Current(), id))
			}, "does not fit"},
			"ALongerLife": {func(w *world, r *http.Request) {
				end := fmt.Sprintf("expires=%d", w.clock.Add(botauth.Lifetime).Unix())
				r.Header.Set("Signature-Input", strings.ReplaceAll(r.Header.Get("Signature-Input"), end, "expires=9999999999"))
			}, "does not fit"},
		} {
			t.Run(string(form)+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, form)
				r := w.signed("https://site.example/")
				c.spoil(w, r)
				_, err := w.verify(r)
				require.ErrorContains(t, err, c.want)
			})
		}
	}
}

// The headers are the same to a server of HTTP/1.1 and of HTTP/2.
func TestProtocols(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		for _, two := range []bool{false, true} {
			w := newWorld(t, form)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				_, err := signatures.Verify(r, "https", w.keys(), time.Now())
				fmt.Fprintf(out, "%d %v", r.ProtoMajor, err)
			}))
			server.EnableHTTP2 = two
			server.StartTLS()
			t.Cleanup(server.Close)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/100%25/?q=1", http.NoBody)
			require.NoError(t, err)
			require.NoError(t, w.Sign(r))
			answer, err := server.Client().Do(r)
			require.NoError(t, err)
			var said bytes.Buffer
			_, err = said.ReadFrom(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, map[bool]string{false: "1 <nil>", true: "2 <nil>"}[two], said.String(), form)
		}
	}
}

func TestKeysChangeWithoutARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, botauth.FormArchitecture02)
	keyOf := func() string {
		v, err := w.verify(w.signed("https://site.example/"))
		require.NoError(t, err)
		return v.KeyID
	}
	first := keyOf()
	later := w.clock.Add(time.Hour)
	second := w.key("2.jwk", later)
	w.clock.Time = w.clock.Add(10 * time.Second)
	require.Equal(t, first, keyOf(), "the new key is for later")
	require.Len(t, w.keys(), 2, "and in the directory already")

	w.clock.Time = later
	require.Equal(t, second, keyOf(), "the newest signs")
	require.NoError(t, os.Remove(filepath.Join(w.dir, "1.jwk")))
	w.clock.Time = w.clock.Add(10 * time.Second)
	require.Equal(t, second, keyOf())
	require.Len(t, w.keys(), 1)

	w.write("2.jwk", `{"kty":"OKP","crv":"Ed25519","d":"half of a`)
	keys, now := signatures.Keys{}, w.clock
	good, err := botauth.New(botauth.Config{Path: w.dir, Agent: agent, Form: botauth.FormArchitecture02, Now: now.now})
	require.Error(t, err)
	require.Nil(t, good)
	for range 3 {
		w.clock.Time = w.clock.Add(10 * time.Second)
		_, err := signatures.Verify(w.signed("https://site.example/"), "https", keys, w.clock.Time)
		require.ErrorContains(t, err, "not known", "signed by the last good key, of which there is no public part now")
		require.Equal(t, second, w.Current())
	}
	require.Equal(t, 1, strings.Count(w.log.String(), "could not reload the signing keys"), w.log)
	third := w.key("2.jwk", w.clock.Time)
	w.clock.Time = w.clock.Add(10 * time.Second)
	require.Equal(t, third, keyOf())
	require.Contains(t, w.log.String(), third)
	require.NotContains(t, w.log.String(), "half of a")
}

func TestNoRequestIsSignedByAKeyThatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, botauth.FormProtocol01)
	var file map[string]any
	text, err := os.ReadFile(filepath.Join(w.dir, "1.jwk"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	file["exp"] = w.clock.Add(time.Minute).Unix()
	text, err = json.Marshal(file)
	require.NoError(t, err)
	w.write("1.jwk", string(text))
	w.clock.Time = w.clock.Add(10 * time.Second)
	w.signed("https://site.example/")
	w.clock.Time = w.clock.Add(time.Minute)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://site.example/", http.NoBody)
	require.ErrorContains(t, w.Sign(r), "no key is valid now")
	require.Empty(t, r.Header)
	require.Empty(t, w.Current())
	_, err = botauth.Directory(w.dir, w.clock.Time)
	require.ErrorContains(t, err, "have expired")
}

// Requests sign at once while the key changes; each is signed by a key that is or was there.
func TestASignerIsShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, botauth.FormProtocol01)
	began := w.clock.Time
	var ticks atomic.Int64 // of a clock on which keys are looked for at each request
	s, err := botauth.New(botauth.Config{
		Path: w.dir, Agent: agent, Form: botauth.FormProtocol01,
		Now: func() time.Time { return began.Add(time.Duration(ticks.Add(1)) * 10 * time.Second) },
	})
	require.NoError(t, err)
	known := w.keys()
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			for range 50 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://site.example/", http.NoBody)
				if err := s.Sign(r); err != nil || r.Header.Get("Signature") == "" {
					return fmt.Errorf("a request is not signed: %w", err)
				}
			}
			return nil
		})
	}
	for range 10 {
		id := w.key("2.jwk", began)
		known[id] = w.keys()[id]
	}
	require.NoError(t, all.Wait())
	require.NoError(t, s.Sign(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://site.example/", http.NoBody)))
	require.Contains(t, known, s.Current())
}

// Whatever prints a signer does not show its key.
func TestNothingShowsTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, botauth.FormProtocol01)
	text, key, err := botauth.NewKeyFile(time.Now())
	require.NoError(t, err)
	var file struct{ D string }
	require.NoError(t, json.Unmarshal(text, &file))
	seed, err := base64.RawURLEncoding.DecodeString(file.D)
	require.NoError(t, err)
	w.write("2.jwk", string(text))
	w.clock.Time = w.clock.Add(10 * time.Second)
	w.signed("https://site.example/")
	require.Equal(t, key.ID, w.Current())
	var shown strings.Builder
	for _, v := range []any{w.Signer, *key, key, []*botauth.Key{key}, struct{ k botauth.Key }{*key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x", "%s", "%q"} {
			fmt.Fprintf(&shown, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&shown, nil)).Info("a line", "value", v)
		if data, err := json.Marshal(v); err == nil {
			shown.Write(data)
		}
	}
	shown.WriteString(w.log.String())
	for _, secret := range []string{
		file.D, base64.StdEncoding.EncodeToString(seed), hex.EncodeToString(seed[:8]), strings.Trim(fmt.Sprintf("%d", seed[:8]), "[]"),
		strings.Trim(fmt.Sprintf("%#v", seed[:8]), "[]byte{}"),
	} {
		require.NotContains(t, shown.String(), secret)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, architecture, protocol string }{
		{"https://Bot.example", "https://bot.example", "https://bot.example" + botauth.DirectoryPath},
		{"https://bot.example:443/", "https://bot.example", "https://bot.example" + botauth.DirectoryPath},
		{"https://bot.example" + botauth.DirectoryPath, "https://bot.example", "https://bot.example" + botauth.DirectoryPath},
		{"https://bot.example:8443/keys.json", "", "https://bot.example:8443/keys.json"},
		{"http://bot.example", "", ""},
		{"bot.example", "", ""},
		{"https://user@bot.example", "", ""},
		{"https://bot.example/?a", "", ""},
		{"https://bot.example/#a", "", ""},
		{"https://böt.example/", "", ""},
		{"", "", ""},
	} {
		for form, want := range map[botauth.Form]string{botauth.FormArchitecture02: c.architecture, botauth.FormProtocol01: c.protocol} {
			got, err := form.Agent(c.raw)
			require.Equal(t, want, got, c.raw)
			require.Equal(t, want == "", err != nil, c.raw)
		}
	}
}

func TestSignedDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, botauth.FormProtocol01)
	w.key("2.jwk", w.clock.Add(time.Hour))
	body, header, err := botauth.SignedDirectory(w.dir, w.Agent(), w.clock.Time, 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, "application/http-message-signatures-directory+json", header.Get("Content-Type"))
	keys, err := signatures.VerifyDirectory(header, body, "crawler.example.org", w.clock.Time)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	_, err = signatures.VerifyDirectory(header, body, "thief.example.org", w.clock.Time)
	require.ErrorContains(t, err, "does not fit")
	_, err = signatures.VerifyDirectory(header, body, "crawler.example.org", w.clock.Add(24*time.Hour))
	require.ErrorContains(t, err, "expired")
	_, err = signatures.VerifyDirectory(header, append(body, ' '), "crawler.example.org", w.clock.Time)
	require.ErrorContains(t, err, "another body")
}
