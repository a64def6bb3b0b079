package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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
		require.ErrorContains(t, err, fmt.Sprintf("port %d is not available: ", port))
		_, err = Start(t.Context(), Config{Dir: t.TempDir(), UIPort: uiPort})
		require.ErrorContains(t, err, fmt.Sprintf("port %d is not available: ", uiPort))
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

// A port that is chosen, closed and listened on again can be taken by another program in between,
// with which the server panics.
func TestServicesServeOnTheListenersThatWereOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, err := prepareDatabase(t.Context(), dir)
	require.NoError(t, err)
	store := storeConfig(path)
	require.NoError(t, createNamespace(store, nil))
	opened, err := listenForServices(t.Context(), 0)
	require.NoError(t, err)
	var accepted sync.Map
	counted := make(listeners)
	for name, listener := range opened {
		counted[name] = observedListener{Listener: listener, accepting: func() { accepted.Store(name, true) }}
	}
	server, err := start(t.Context(), Config{Dir: dir, NoUI: true, Logger: slog.New(slog.DiscardHandler)}, store, counted)
	require.NoError(t, err)
	wait.Until(t, func() bool {
		for name := range counted {
			if _, ok := accepted.Load(name); !ok {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
	require.NoError(t, server.Stop())
	for name, listener := range opened {
		require.ErrorIs(t, listener.Close(), net.ErrClosed, name)
	}
}

type observedListener struct {
	net.Listener

	accepting func()
}

func (l observedListener) Accept() (net.Conn, error) {
	l.accepting()
	return l.Listener.Accept()
}
