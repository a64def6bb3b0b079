package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/web"
)

// syncBuffer is written by the command while the test reads it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("ReportsWhatWasAskedOnInterrupt", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		seeds, logFile := filepath.Join(dir, "seeds.txt"), filepath.Join(dir, "log.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out syncBuffer
		code := make(chan int, 1)
		go func() {
			code <- run(ctx, []string{"--sites", "2", "--seeds", seeds, "--log", logFile}, &out, &out)
		}()
		require.Eventually(t, func() bool {
			return strings.Contains(out.String(), "Interrupt to see the report")
		}, 10*time.Second, time.Millisecond)
		require.Contains(t, out.String(), "mosey crawl "+seeds+" --dns-server 127.0.0.1:")

		text, err := os.ReadFile(seeds)
		require.NoError(t, err)
		lines := strings.Fields(string(text))
		require.Len(t, lines, 2)
		// The sites are names of the web's own DNS, its first address is not.
		authority := strings.TrimPrefix(lines[0], "http://site-001.test")
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.64.0.1"+authority, http.NoBody)
		require.NoError(t, err)
		req.Close = true
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())

		cancel()
		require.Equal(t, exitViolations, <-code)
		require.Contains(t, out.String(), "1 user-agent")
		f, err := os.Open(logFile)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		log, err := web.ReadLog(f)
		require.NoError(t, err)
		require.Len(t, log, 1)
	})
	t.Run("PromisesKept", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out syncBuffer
		require.Equal(t, exitOK, run(ctx, []string{"--partial", "--seeds", filepath.Join(t.TempDir(), "s")}, &out, &out))
		require.Contains(t, out.String(), "violations  none")
	})
	t.Run("HostileSitesComeWithTheirAuthority", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		seeds := filepath.Join(t.TempDir(), "seeds.txt")
		var out syncBuffer
		args := []string{"--sites=0", "--hostile", "--partial", "--subnet-delay=2s", "--seeds", seeds}
		require.Equal(t, exitOK, run(ctx, args, &out, &out))
		require.Contains(t, out.String(), "SSL_CERT_FILE="+seeds+".ca.pem mosey crawl "+seeds+" --dns-server")
		require.Contains(t, out.String(), "--subnet-delay 2s\n")
		root, err := os.ReadFile(seeds + ".ca.pem")
		require.NoError(t, err)
		require.True(t, x509.NewCertPool().AppendCertsFromPEM(root))
		text, err := os.ReadFile(seeds)
		require.NoError(t, err)
		require.Contains(t, string(text), "https://tls-expired.hostile.test:")
	})
	t.Run("HelpListsTheFlags", func(t *testing.T) {
		t.Parallel()
		var out syncBuffer
		require.Equal(t, exitOK, run(t.Context(), []string{"--help"}, &out, &out))
		require.Contains(t, out.String(), "-ip-delay")
	})
	t.Run("BadFlagsAreOneLine", func(t *testing.T) {
		t.Parallel()
		for flag, want := range map[string]string{
			"--odd":         "not defined: -odd",
			"--scope=odd":   `--scope is "odd"`,
			"--sites=0":     "--sites is 0",
			"--port=70000":  "Port is 70000",
			"--links=-3":    "Links is -3",
			"--seeds=/no/x": "seeds: open /no/x",
		} {
			var errOut syncBuffer
			require.Equal(t, exitUsage, run(t.Context(), []string{flag}, &syncBuffer{}, &errOut))
			require.Contains(t, errOut.String(), want)
			require.Equal(t, 1, strings.Count(errOut.String(), "\n"))
		}
	})
}
