package fetch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

// tlsHost is the name that the tests' certificates are for.
const tlsHost = "site.example"

// authority is a certificate authority of one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	template := newTemplate()
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(tb, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(tb, err)
	return &authority{cert: cert, key: key}
}

func newTemplate() *x509.Certificate {
	return &x509.Certificate{
		DNSNames:     []string{tlsHost},
		NotAfter:     time.Now().Add(time.Hour),
		NotBefore:    time.Now().Add(-time.Hour),
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "mosey test"},
	}
}

// leaf issues a certificate for tlsHost, changed by each of changes.
func (a *authority) leaf(tb testing.TB, changes ...func(*x509.Certificate)) tls.Certificate {
	tb.Helper()
	template := newTemplate()
	for _, change := range changes {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(tb, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// trust makes a client accept the authority.
func (a *authority) trust(config *fetch.Config) {
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AddCert(a.cert)
}

// over is a talk that speaks TLS, and inside it, talk.
func (a *authority) over(tb testing.TB, leaf tls.Certificate, talk func(net.Conn)) func(net.Conn) {
	tb.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12}
	return func(conn net.Conn) {
		secure := tls.Server(conn, config)
		talk(secure)
		_ = secure.Close()
	}
}

// getTLS is a request for the root of the site, by the name of its certificate.
func (s *site) getTLS() fetch.Request {
	return fetch.Request{
		Addr: s.at.Addr(),
		URL:  "https://" + net.JoinHostPort(tlsHost, strconv.Itoa(int(s.at.Port()))) + "/",
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	authority := newAuthority(t)

	t.Run("AcceptsATrustedCertificate", func(t *testing.T) {
		t.Parallel()
		s := serve(t, authority.over(t, authority.leaf(t), answer(hello)))
		response, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
		require.NoError(t, err)
		require.Equal(t, "hello", string(response.Body))
	})

	// as a host of a hosting service, which browsers read
	for name, want := range map[string]bool{"*.example.test": true, "-a.example.test": true, "*.-a.example.test": false, "x-a.example.test": false} {
		t.Run("HostWithALeadingHyphen/"+name, func(t *testing.T) {
			t.Parallel()
			leaf := authority.leaf(t, func(c *x509.Certificate) { c.DNSNames = []string{name} })
			s := serve(t, authority.over(t, leaf, answer(hello)))
			request := s.getTLS()
			request.URL = strings.Replace(request.URL, tlsHost, "-a.example.test", 1)
			client := newClient(t, authority.trust)
			for range 2 { // also when the session is resumed
				_, err := client.Do(t.Context(), request)
				require.Equal(t, want, err == nil, "%v", err)
			}
			_, err := newClient(t).Do(t.Context(), request)
			requireKind(t, fetch.CauseTLS, err)
		})
	}

	t.Run("ResumesSessions", func(t *testing.T) {
		t.Parallel()
		resumed := make(chan bool, 1)
		s := serve(t, authority.over(t, authority.leaf(t), func(conn net.Conn) {
			answer(hello)(conn)
			resumed <- conn.(*tls.Conn).ConnectionState().DidResume
		}))
		client := newClient(t, authority.trust)
		for _, want := range []bool{false, true} {
			_, err := client.Do(t.Context(), s.getTLS())
			require.NoError(t, err)
			require.Equal(t, want, <-resumed)
		}
	})

	t.Run("TakesABodyEndedByTheConnection", func(t *testing.T) {
		t.Parallel()
		s := serve(t, authority.over(t, authority.leaf(t), answer("HTTP/1.0 200 OK\r\n\r\nhello")))
		response, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
		require.NoError(t, err)
		require.Equal(t, "hello", string(response.Body))
	})

	stranger := newAuthority(t)
	for name, talk := range map[string]func(net.Conn){
		"RefusesAnUnknownAuthority": stranger.over(t, stranger.leaf(t), answer(hello)),
		"RefusesAnExpiredCertificate": authority.over(t, authority.leaf(t, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		}), answer(hello)),
		"RefusesAnotherHostsCertificate": authority.over(t, authority.leaf(t, func(c *x509.Certificate) {
			c.DNSNames = []string{"other.example"}
		}), answer(hello)),
		"RefusesPlainHTTP": func(conn net.Conn) { _, _ = io.WriteString(conn, hello) },
		"RefusesAHangup":   func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, talk)
			_, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
			failure := requireKind(t, fetch.CauseTLS, err)
			require.True(t, failure.Sent)
			require.Equal(t, name != "RefusesAHangup", failure.NoTLS(), "what breaks off may be there the next time")
			require.False(t, failure.Refused())
		})
	}

	t.Run("HasNoneWhereItsVersionIsRefused", func(t *testing.T) {
		t.Parallel()
		alert := []byte{21, 3, 3, 0, 2, 2, 70} // fatal: protocol_version (RFC 8446 §6.2)
		s := serve(t, func(conn net.Conn) { _, _ = conn.Write(alert) })
		_, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
		failure := requireKind(t, fetch.CauseTLS, err)
		require.True(t, failure.NoTLS())
	})

	t.Run("GivesUpASilentHandshake", func(t *testing.T) {
		t.Parallel()
		s := serve(t, hang)
		client := newClient(t, func(c *fetch.Config) { c.ConnectTimeout = 50 * time.Millisecond })
		_, err := client.Do(t.Context(), s.getTLS())
		require.True(t, requireKind(t, fetch.CauseTimeout, err).Sent)
	})
}
