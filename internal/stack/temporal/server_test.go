package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// lookups are the questions that this process has for a name server: whatever asks the
// Internet for something begins with one.
var lookups recorder

type recorder struct {
	mu    sync.Mutex
	count int
	first chan struct{}
}

var errNoInternet = errors.New("a test asks no name server")

func (r *recorder) dial(context.Context, string, string) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count++; r.count == 1 {
		close(r.first)
	}
	return nil, errNoInternet
}

func TestMain(m *testing.M) {
	lookups.first = make(chan struct{})
	// These are meant for Mosey's own traces. A server that obeyed them would not start.
	if err := os.Setenv("OTEL_TRACES_EXPORTER", "console"); err != nil {
		panic(err)
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: lookups.dial}
	os.Exit(m.Run())
}

// freePort is a port that nobody listens on just now.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := listen(t.Context(), 0, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return portOf(listener)
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("IsToldNotToAskTheInternet", func(t *testing.T) {
		t.Parallel()
		collection := dynamicconfig.NewCollection(settings(), log.NewNoopLogger())
		require.False(t, dynamicconfig.EnableServerVersionCheck.Get(collection)(), "the version check")
		require.True(t, uiConfig("127.0.0.1:7233").DisableNewsFetch, "the news of the web UI")
	})

	t.Run("ListensWhereItIsToldTo", func(t *testing.T) {
		t.Parallel()
		var server *Server
		var port, uiPort int
		wait.Until(t, func() bool { // others may take a port before it is had
			port, uiPort = freePort(t), freePort(t)
			var err error
			server, err = Start(t.Context(), Config{Dir: t.TempDir(), Port: port, UIPort: uiPort})
			return err == nil
		}, time.Minute, time.Millisecond)
		require.Equal(t, address(port), server.Address())
		require.Equal(t, "http://"+address(uiPort), server.UIURL())
		_, err := Start(t.Context(), Config{Dir: t.TempDir(), Port: port})
		require.ErrorContains(t, err, fmt.Sprintf("port %d cannot be had: ", port))
		_, err = Start(t.Context(), Config{Dir: t.TempDir(), UIPort: uiPort})
		require.ErrorContains(t, err, fmt.Sprintf("port %d cannot be had: ", uiPort))
		require.NoError(t, server.Stop())
	})

	t.Run("AsksNobody", func(t *testing.T) {
		t.Parallel()
		server, err := Start(t.Context(), Config{Dir: t.TempDir()})
		require.NoError(t, err)
		response, err := http.Get(server.UIURL())
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		select {
		case <-lookups.first:
			require.Fail(t, "the server asks for a name")
		case <-time.After(2 * time.Second): // its version check comes at the start
		}
		require.NoError(t, server.Stop())
	})
}

// A server that stops waits for what it has been asked, for a second at the longest. Its own
// workers for housekeeping always ask for work, and it does not stop them before.
func TestStopDoesNotWaitForPolls(t *testing.T) {
	t.Parallel()
	var log output.Buffer
	server, err := Start(t.Context(), Config{
		Dir: t.TempDir(), NoUI: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	require.NoError(t, server.Stop())
	require.Contains(t, log.String(), "frontend stopped")
	require.NotContains(t, log.String(), "Drain time expired")
}

func TestTurn(t *testing.T) {
	t.Parallel()

	t.Run("IsTakenByOneAtATime", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "ports.lock")
		release, err := awaitTurn(t.Context(), file)
		require.NoError(t, err)
		second := make(chan error, 1)
		go func() {
			release, err := awaitTurn(t.Context(), file)
			if err == nil {
				err = release()
			}
			second <- err
		}()
		select {
		case err := <-second:
			require.FailNow(t, "two have the turn", "%v", err)
		case <-time.After(200 * time.Millisecond):
		}
		require.NoError(t, release())
		require.NoError(t, <-second)
	})

	t.Run("CannotBeKeptByAnotherUser", func(t *testing.T) {
		t.Parallel()
		file := turnFile(t.TempDir())
		require.True(t, writable(file))
		stat, err := os.Stat(filepath.Dir(file))
		require.NoError(t, err)
		require.Zero(t, stat.Mode().Perm()&0o022, "%s is writable by others", filepath.Dir(file))
	})
}

func TestTurnWithoutACache(t *testing.T) {
	for name, cache := range map[string]string{"Unset": "", "NotADirectory": "/dev/null", "ReadOnly": "/proc"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", cache)
			t.Setenv("HOME", cache)
			dir := t.TempDir()
			require.Equal(t, filepath.Join(dir, "ports.lock"), turnFile(dir))
		})
	}
}
