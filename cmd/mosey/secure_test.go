package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// File is its certificate.
	File string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, File: filepath.Join(t.TempDir(), name+".pem")}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(a.File, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return a
}

// issue writes a certificate for a name, and its key, which last until a time.
func (a *authority) issue(name string, until time.Time) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	require.NoError(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a.t, err)
	dir := a.t.TempDir()
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	require.NoError(a.t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(a.t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// guarded is a Temporal behind a proxy with TLS, as Temporal Cloud is: it wants a client
// certificate of an authority, or an API key.
type guarded struct {
	address string
	// calls counts those that were passed on.
	calls atomic.Int64
	// seen is the serial number of the last client's certificate.
	seen atomic.Pointer[big.Int]
	// server is closed to have clients connect anew.
	connections func()
}

const serverName = "temporal.test"

// guard starts the proxy. It requires client certificates of the authority clients, and the API
// key. A nil authority and an empty key require nothing.
func guard(t *testing.T, temporal string, ca, clients *authority, until time.Time, key string) *guarded {
	t.Helper()
	g := &guarded{}
	certFile, keyFile := ca.issue(serverName, until)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(clients.cert)
	}
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: temporal})
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = &http.Transport{Protocols: &plain}, -1, quiet
	proxy.ModifyResponse = func(r *http.Response) error {
		// a call that fails at once has its status in the header, which would be flushed too early
		for name, values := range r.Header {
			if strings.HasPrefix(name, "Grpc-Status") || name == "Grpc-Message" {
				if r.Trailer == nil {
					r.Trailer = http.Header{}
				}
				r.Trailer[name] = values
				r.Header.Del(name)
			}
		}
		return nil
	}
	var both http.Protocols
	both.SetHTTP2(true)
	open := make(chan net.Conn, 1000)
	server := &http.Server{
		TLSConfig: config, Protocols: &both, ErrorLog: quiet, ReadHeaderTimeout: time.Minute,
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateNew {
				open <- c
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Grpc-Status", "16")
				w.Header().Set("Grpc-Message", "Request unauthorized.")
				return
			}
			if len(r.TLS.PeerCertificates) > 0 {
				g.seen.Store(r.TLS.PeerCertificates[0].SerialNumber)
			}
			g.calls.Add(1)
			proxy.ServeHTTP(w, r)
		}),
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	g.address = listener.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(listener, "", "")
	}()
	g.connections = func() {
		for len(open) > 0 {
			_ = (<-open).Close()
		}
	}
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return g
}

// secure is a harness whose Temporal is behind a guard.
func secure(t *testing.T, clients bool, key string) (h *commandHarness, g *guarded, ca *authority) {
	t.Helper()
	h, _ = newHarnessWithStack(t)
	ca = newAuthority(t, "ours")
	var wanted *authority
	if clients {
		wanted = ca
	}
	g = guard(t, h.environ.Get("TEMPORAL_ADDRESS"), ca, wanted, time.Now().Add(time.Hour), key)
	h.Setenv("TEMPORAL_ADDRESS", g.address)
	return h, g, ca
}

// everyCommand runs each command that connects to Temporal.
func (h *commandHarness) everyCommand(s site, g *guarded) {
	h.t.Helper()
	for _, args := range [][]string{
		s.crawl(s.Seeds()[0]),
		{"status"},
		{"migrate"},
		{"doctor", "--only", "temporal", "--only", "namespace", "--only", "attributes"},
		{"schedule", "add", "nightly", "--run", "default", "--older-than", "1h", "--every", "24h"},
		{"schedule", "list"},
		{"schedule", "remove", "nightly"},
		{"deploy"},
		{"replay"},
	} {
		before := g.calls.Load()
		r := h.Execute(args...)
		require.Zero(h.t, r.Code, "%v: %s%s", args, r.Stdout, r.Stderr)
		require.NotContains(h.t, r.Stderr, "could not", "%v", args)
		if args[0] != "status" { // which asks the database alone
			require.Greater(h.t, g.calls.Load(), before, "%v", args)
		}
	}
	before := g.calls.Load()
	served := h.Start("serve", "--web", "127.0.0.1:0")
	address := served.Field("Web page")
	response, err := http.Get(address)
	require.NoError(h.t, err)
	require.NoError(h.t, response.Body.Close())
	wait.Until(h.t, func() bool { return g.calls.Load() > before }, patience, 10*time.Millisecond)
	require.Zero(h.t, served.Stop().Code)
}

func TestTemporalBehindTLS(t *testing.T) {
	t.Parallel()

	t.Run("WithClientCertificates", func(t *testing.T) {
		t.Parallel()
		h, g, ca := secure(t, true, "")
		cert, key := ca.issue("client", time.Now().Add(time.Hour))
		h.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ca.File)
		h.Setenv("TEMPORAL_TLS_SERVER_NAME", serverName)
		h.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", cert)
		h.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", key)
		h.everyCommand(newSite(t, 1, 2), g)
	})

	t.Run("WithCertificatesInVariables", func(t *testing.T) {
		t.Parallel()
		h, _, ca := secure(t, true, "")
		cert, key := ca.issue("client", time.Now().Add(time.Hour))
		for name, file := range map[string]string{
			"TEMPORAL_TLS_SERVER_CA_CERT_DATA": ca.File, "TEMPORAL_TLS_CLIENT_CERT_DATA": cert, "TEMPORAL_TLS_CLIENT_KEY_DATA": key,
		} {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			h.Setenv(name, string(text))
		}
		h.Setenv("TEMPORAL_TLS_SERVER_NAME", serverName)
		r := h.Execute("schedule", "list")
		require.Zero(t, r.Code, r.Stderr)
	})

	t.Run("WithAnAPIKey", func(t *testing.T) {
		t.Parallel()
		h, g, ca := secure(t, false, "hush-hush")
		h.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ca.File)
		h.Setenv("TEMPORAL_TLS_SERVER_NAME", serverName)
		h.Setenv("TEMPORAL_API_KEY", "hush-hush")
		h.everyCommand(newSite(t, 1, 2), g)
	})

	t.Run("WithAProfile", func(t *testing.T) {
		t.Parallel()
		h, g, ca := secure(t, true, "hush-hush")
		cert, key := ca.issue("client", time.Now().Add(time.Hour))
		profile := "[profile.cloud]\naddress = \"" + g.address + "\"\nnamespace = \"" + h.environ.Get("TEMPORAL_NAMESPACE") +
			"\"\napi_key = \"hush-hush\"\n[profile.cloud.tls]\nserver_name = \"" + serverName + "\"\nserver_ca_cert_path = \"" + ca.File +
			"\"\nclient_cert_path = \"" + cert + "\"\nclient_key_path = \"" + key + "\"\n"
		h.Setenv("TEMPORAL_CONFIG_FILE", h.WriteFile("temporal.toml", profile))
		h.Setenv("TEMPORAL_PROFILE", "cloud")
		h.Setenv("TEMPORAL_ADDRESS", "")
		h.Setenv("TEMPORAL_NAMESPACE", "")
		h.everyCommand(newSite(t, 1, 2), g)
		h.Setenv("TEMPORAL_PROFILE", "nowhere")
		h.Refuse([]string{"schedule", "list"}, "read the TEMPORAL_* settings: ", "nowhere")
	})
}

// Each mistake is named with what helps, and without a secret.
func TestTemporalBehindTLSIsRefused(t *testing.T) {
	form.Long(t)
	t.Parallel()
	h, g, ca := secure(t, true, "hush-hush")
	other := newAuthority(t, "theirs")
	cert, key := ca.issue("client", time.Now().Add(time.Hour))
	expired, expiredKey := ca.issue("client", time.Now().Add(-time.Hour))
	foreign, foreignKey := other.issue("client", time.Now().Add(time.Hour))
	plain := h.environ.Get("TEMPORAL_ADDRESS")
	late := guard(t, plain, ca, nil, time.Now().Add(-time.Minute), "")
	right := map[string]string{
		"TEMPORAL_ADDRESS": g.address, "TEMPORAL_TLS_SERVER_CA_CERT_PATH": ca.File, "TEMPORAL_TLS_SERVER_NAME": serverName,
		"TEMPORAL_TLS_CLIENT_CERT_PATH": cert, "TEMPORAL_TLS_CLIENT_KEY_PATH": key, "TEMPORAL_API_KEY": "hush-hush",
	}
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"WrongCA": {
			map[string]string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH": other.File}, "set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the CA",
		},
		"ExpiredServer":   {map[string]string{"TEMPORAL_ADDRESS": late.address}, "renew the server's certificate"},
		"WrongServerName": {map[string]string{"TEMPORAL_TLS_SERVER_NAME": ""}, "set TEMPORAL_TLS_SERVER_NAME to the name"},
		"NoCertificate": {
			map[string]string{"TEMPORAL_TLS_CLIENT_CERT_PATH": "", "TEMPORAL_TLS_CLIENT_KEY_PATH": ""}, "give this client a certificate",
		},
		"ExpiredCertificate": {
			map[string]string{"TEMPORAL_TLS_CLIENT_CERT_PATH": expired, "TEMPORAL_TLS_CLIENT_KEY_PATH": expiredKey}, "it has expired",
		},
		"ForeignCertificate": {
			map[string]string{"TEMPORAL_TLS_CLIENT_CERT_PATH": foreign, "TEMPORAL_TLS_CLIENT_KEY_PATH": foreignKey}, "TEMPORAL_TLS_CLIENT_CERT_PATH",
		},
		"WrongKey": {map[string]string{"TEMPORAL_API_KEY": "hush-wrong"}, "TEMPORAL_API_KEY"},
		"NoTLS": {map[string]string{
			"TEMPORAL_TLS_SERVER_CA_CERT_PATH": "", "TEMPORAL_TLS_SERVER_NAME": "", "TEMPORAL_TLS_CLIENT_CERT_PATH": "",
			"TEMPORAL_TLS_CLIENT_KEY_PATH": "", "TEMPORAL_TLS": "false",
		}, "the server may require TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := &commandHarness{t: t, dir: h.dir, environ: append(slices.Clip(h.environ), "TEMPORAL_NAMESPACE=default")}
			for variable, value := range right {
				mine.Setenv(variable, value)
			}
			for variable, value := range c.change {
				mine.Setenv(variable, value)
			}
			r := mine.Execute("schedule", "list")
			require.Equal(t, 1, r.Code, r.Stderr)
			output.ContainsOnSameLine(t, r.Stderr, "reach Temporal at "+mine.environ.Get("TEMPORAL_ADDRESS"), c.want)
			doctor := mine.Execute("doctor", "--only", "temporal")
			require.Equal(t, 1, doctor.Code)
			require.Contains(t, strings.Join(strings.Fields(doctor.Stdout), " "), c.want)
			require.NotContains(t, r.Stderr+doctor.Stdout, "hush")
		})
	}
}

// A certificate that is replaced on the disk is used by the next connection.
func TestClientCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	h, g, ca := secure(t, true, "")
	cert, key := ca.issue("client", time.Now().Add(time.Hour))
	h.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ca.File)
	h.Setenv("TEMPORAL_TLS_SERVER_NAME", serverName)
	h.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", cert)
	h.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", key)
	up := h.Start("up")
	up.Await("Ready.")
	before := g.seen.Load()
	require.NotNil(t, before)
	fresh, freshKey := ca.issue("client", time.Now().Add(time.Hour))
	require.NoError(t, os.Rename(fresh, cert))
	require.NoError(t, os.Rename(freshKey, key))
	g.connections()
	wait.Until(t, func() bool { return g.seen.Load().Cmp(before) != 0 }, patience, 10*time.Millisecond)
	require.Zero(t, up.Stop().Code)
}
