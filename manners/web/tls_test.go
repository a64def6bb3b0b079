package web

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	var sites []Site
	for _, kind := range tlsCertificates {
		sites = append(sites, Site{Host: string(kind) + ".test", Pages: 3, TLS: kind, WWW: true})
	}
	w := StartT(t, Options{Sites: append(sites, Site{Host: "plain.test"})})
	client := newClient(w)

	t.Run("ValidCertificateIsTrusted", func(t *testing.T) {
		t.Parallel()
		u := w.URL("valid.test", "/")
		require.Contains(t, u, "https://valid.test:")
		a := mustAsk(t, client, u)
		require.Equal(t, 200, a.status)
		require.Contains(t, extractLinks(u, a.body), w.URL("valid.test", "/p/1"))
		require.Equal(t, 301, mustAsk(t, client, w.URL("www.valid.test", "/")).status)
	})
	t.Run("OthersAreRefused", func(t *testing.T) {
		t.Parallel()
		_, err := ask(t, client, w.URL("expired.test", "/"))
		var invalid x509.CertificateInvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, x509.Expired, invalid.Reason)
		_, err = ask(t, client, w.URL("self-signed.test", "/"))
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, err, &unknown)
		_, err = ask(t, client, w.URL("wrong-host.test", "/"))
		var host x509.HostnameError
		require.ErrorAs(t, err, &host)
	})
	t.Run("NothingOfTheOthersIsExpected", func(t *testing.T) {
		t.Parallel()
		reachable := w.Reachable(Rules{})
		for _, kind := range tlsCertificates {
			require.Equal(t, kind == TLSValid, reachable[w.URL(string(kind)+".test", "/")].URL != "", kind)
			require.Equal(t, kind == TLSValid, reachable[w.URL(string(kind)+".test", robotsPath)].URL != "", kind)
		}
	})
	t.Run("NoSiteOfHTTPHasOne", func(t *testing.T) {
		t.Parallel()
		require.Nil(t, StartT(t, Options{}).RootCA())
		require.NotNil(t, w.RootCA())
	})
}

func TestTLSOrHTTP(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{{Host: "both.test", Pages: 3, TLS: TLSValid, TLSOrHTTP: true}}})
	client := newClient(w)
	secure := w.URL("both.test", "/")
	require.Equal(t, 200, mustAsk(t, client, secure).status)
	require.Equal(t, 200, mustAsk(t, client, "http"+strings.TrimPrefix(secure, "https")).status)
	log := w.Log()
	require.Len(t, log, 2)
	require.True(t, log[0].TLS)
	require.False(t, log[1].TLS)
}

func TestTLSIsLogged(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{{Host: "good.test", TLS: TLSValid}, {Host: "bad.test", TLS: TLSSelfSigned}}})
	client := newClient(w)
	mustAsk(t, client, w.URL("good.test", robotsPath))
	mustAsk(t, client, w.URL("good.test", "/p/1"))
	_, err := ask(t, client, w.URL("bad.test", robotsPath))
	require.Error(t, err)
	wait.Until(t, func() bool { return len(w.Log()) == 3 && !w.Log()[2].InFlight }, 10*time.Second, time.Millisecond)

	log := w.Log()
	require.Equal(t, w.URL("good.test", robotsPath), log[0].URL())
	require.Equal(t, w.URL("good.test", "/p/1"), log[1].URL())
	require.True(t, log[1].Answered())
	require.Greater(t, log[1].Bytes, int64(6<<10))
	require.Empty(t, log[2].Host)

	// A refused certificate is a connection all the same, and keeps its gap.
	report := Judge(log, Expectations{Delay: time.Minute, Partial: true, Plan: w.Plan})
	require.Equal(t, "1 gap", report.counts())
	require.Equal(t, 1, report.Silent)
	require.Equal(t, []string{"bad.test", "good.test"}, []string{report.Domains[0].Key, report.Domains[1].Key})
}

// The end of an answer is not put off by what TLS says on closing.
func TestTLSAlertIsNoPartOfTheAnswer(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{{Host: "good.test", TLS: TLSValid}}})
	raw, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	addr, _ := w.Addr("good.test")
	l := listener{Listener: raw, tls: w.certs.configs[addr], web: w}
	t.Cleanup(func() { require.NoError(t, l.Close()) })

	heard := make(chan error, 1)
	go func() {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(w.RootCA())
		c, err := tls.Dial("tcp4", raw.Addr().String(), &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "good.test",
		})
		if err == nil {
			_, err = io.Copy(io.Discard, c)
			_ = c.Close()
		}
		heard <- err
	}()
	accepted, err := l.Accept()
	require.NoError(t, err)
	_, err = io.WriteString(accepted, "an answer")
	require.NoError(t, err)
	wire := wireOf(accepted)
	last, written := wire.lastWrite, wire.writtenBytes
	require.Positive(t, last)
	require.NoError(t, accepted.Close())
	require.NoError(t, <-heard)
	require.Greater(t, wire.writtenBytes, written, "there is an alert")
	require.Equal(t, last, wire.lastWrite)
}

func TestUntrustedPageIsExtra(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{{Host: "bad.test", TLS: TLSExpired}}})
	b.add("https://bad.test:8080/robots.txt", 0, 10, 200)
	b.add("https://bad.test:8080/", 20, 30, 200)
	require.Equal(t, []Breach{BreachExtra, BreachExtra}, b.kinds(Expectations{}))
}
