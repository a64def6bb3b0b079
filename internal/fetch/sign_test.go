package fetch_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/botauth"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/test/signatures"
)

// signing is a file with a key, and a client that signs with it.
type signing struct {
	path   string
	signer *botauth.Signer
	*fetch.Client
}

func newSigning(t *testing.T, form botauth.Form, now func() time.Time, changes ...func(*fetch.Config)) signing {
	t.Helper()
	s := signing{path: filepath.Join(t.TempDir(), "key.jwk")}
	s.renew(t)
	var err error
	s.signer, err = botauth.New(botauth.Config{Path: s.path, Agent: "https://crawler.example.org", Form: form, Now: now})
	require.NoError(t, err)
	s.Client = newClient(t, append(changes, func(c *fetch.Config) { c.Sign = s.signer.Sign })...)
	return s
}

// renew writes another key and returns its keyid.
func (s signing) renew(t *testing.T) string {
	t.Helper()
	text, key, err := botauth.NewKeyFile(time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.path, text, 0o600))
	return key.ID
}

// keys returns the keys of the directory.
func (s signing) keys(t *testing.T) signatures.Keys {
	t.Helper()
	body, err := botauth.Directory(s.path, time.Now())
	require.NoError(t, err)
	keys, err := signatures.ReadDirectory(body)
	require.NoError(t, err)
	return keys
}

// verifying is a host that stores the last request. It responds with its result for the signature,
// or redirects.
type verifying struct {
	*httptest.Server

	last atomic.Pointer[http.Request]
}

// newVerifying starts one at an address of the loopback.
func newVerifying(t *testing.T, address, redirect string, keys func() signatures.Keys) *verifying {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address+":0")
	require.NoError(t, err)
	v := new(verifying)
	v.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		v.last.Store(r)
		verified, err := signatures.Verify(r, "http", keys(), time.Now())
		if err != nil {
			http.Error(out, err.Error(), http.StatusUnauthorized)
			return
		}
		if redirect != "" {
			http.Redirect(out, r, redirect, http.StatusFound)
			return
		}
		fmt.Fprint(out, verified.KeyID)
	}))
	require.NoError(t, v.Listener.Close())
	v.Listener = listener
	v.Start()
	t.Cleanup(v.Close)
	return v
}

// get asks a URL at the address that it has.
func (s signing) get(t *testing.T, target string) *fetch.Response {
	t.Helper()
	at := netip.MustParseAddrPort(strings.Split(strings.TrimPrefix(target, "http://"), "/")[0])
	response, err := s.Do(t.Context(), fetch.Request{URL: target, Addr: at.Addr(), Header: http.Header{"If-None-Match": {`"x"`}}})
	require.NoError(t, err)
	t.Cleanup(response.Release)
	return response
}

// Two hosts verify the signature that was made for each, on the way of a redirect. Neither can use
// the one it got at the other.
func TestEachHopIsSignedForItsHost(t *testing.T) {
	t.Parallel()
	for _, form := range []botauth.Form{botauth.FormArchitecture02, botauth.FormProtocol01} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			s := newSigning(t, form, nil)
			keys := func() signatures.Keys { return s.keys(t) }
			second := newVerifying(t, "127.0.0.2", "", keys)
			first := newVerifying(t, "127.0.0.1", second.URL+"/b%2Fc?q=1", keys)

			hop := s.get(t, first.URL+"/100%25")
			require.Equal(t, http.StatusFound, hop.Status, string(hop.Body))
			end := s.get(t, hop.Header.Get("Location"))
			require.Equal(t, http.StatusOK, end.Status, string(end.Body))
			require.Equal(t, s.signer.Current(), string(end.Body))
			require.NotEqual(t, first.last.Load().Header.Get("Signature"), second.last.Load().Header.Get("Signature"))

			stolen := first.last.Load().Clone(t.Context())
			stolen.Host = second.Listener.Addr().String()
			_, err := signatures.Verify(stolen, "http", s.keys(t), time.Now())
			require.ErrorContains(t, err, "does not fit")
		})
	}
}

func TestRequestsAreSignedByTheNewKey(t *testing.T) {
	t.Parallel()
	behind := atomic.Int64{} // of the signer's clock, which looks for keys each few seconds
	behind.Store(int64(10 * time.Second))
	s := newSigning(t, botauth.FormArchitecture02, func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) })
	host := newVerifying(t, "127.0.0.1", "", func() signatures.Keys { return s.keys(t) })
	old := s.signer.Current()
	require.Equal(t, old, string(s.get(t, host.URL).Body))
	id := s.renew(t)
	require.NotEqual(t, old, id)
	behind.Store(0)
	require.Equal(t, id, string(s.get(t, host.URL).Body))
}

func TestARequestThatCannotBeSignedIsNotMade(t *testing.T) {
	t.Parallel()
	site := serve(t, answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	client := newClient(t, func(c *fetch.Config) { c.Sign = func(*http.Request) error { return os.ErrNotExist } })
	_, err := client.Do(t.Context(), site.get("/"))
	failure := requireKind(t, fetch.CauseLocal, err)
	require.False(t, failure.Sent)
	require.Zero(t, site.accepted.Load())
}

func TestRequestsAreNotSignedUnlessToldSo(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[http.Request]
	site := serve(t, func(conn net.Conn) {
		if r, ok := readHeader(conn); ok {
			got.Store(r)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		}
	})
	response, err := newClient(t).Do(t.Context(), site.get("/"))
	require.NoError(t, err)
	response.Release()
	for name := range got.Load().Header {
		require.False(t, strings.HasPrefix(name, "Signature"), name)
	}
}
