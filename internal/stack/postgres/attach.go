package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// Session is a session with the Postgres of a data directory.
type Session struct {
	url    string
	dir    *datadir.Dir
	server *Server
}

// Attach connects to the Postgres of the data directory cfg.Dir, or runs it until Close if no other
// process does. It waits for another Attach, so that no Close disconnects anybody, and for a
// process that still prepares the database. It reports a slow holder to cfg.Progress. Without a
// cluster it fails with ErrNoCluster and creates nothing.
func Attach(ctx context.Context, cfg Config) (*Session, error) {
	began, notified := time.Now(), cfg.Progress == nil
	for {
		info, running, err := datadir.Running(cfg.Dir)
		if err != nil {
			return nil, err
		}
		if running && info.DatabaseURL != "" {
			return &Session{url: info.DatabaseURL}, nil
		}
		if running && info.Ready {
			return nil, fmt.Errorf("the Mosey (pid %d) in %s uses an external "+
				"database: give its address in DATABASE_URL", info.PID, cfg.Dir)
		}
		if !running {
			attached, err := attachAlone(ctx, cfg)
			if inUse := new(datadir.InUseError); !errors.As(err, &inUse) {
				return attached, err
			}
		}
		// The holder is starting, stopping, or attached like this process.
		if !notified && info.PID != 0 && (info.Activity != "" || time.Since(began) > datadir.NotifyAfter) {
			notified = true
			cfg.Progress(info.WaitNotice())
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

func attachAlone(ctx context.Context, cfg Config) (*Session, error) {
	if _, err := ClusterMajor(cfg.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Dir, err)
	}
	dir, err := datadir.Lock(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	// Other processes must not use a transient Postgres: they wait for its end.
	if err := dir.Publish(datadir.Info{Transient: true}); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	server, err := Start(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Session{url: server.URL(), dir: dir, server: server}, nil
}

// URL connects to the database.
func (a *Session) URL() string { return a.url }

// Close stops the Postgres that Attach started. See Server.Stop for ctx.
func (a *Session) Close(ctx context.Context) error {
	if a.server == nil {
		return nil
	}
	return errors.Join(a.server.Stop(ctx), a.dir.Close())
}
