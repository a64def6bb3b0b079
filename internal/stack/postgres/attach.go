package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// Attached is a way to the Postgres of a data directory.
type Attached struct {
	url    string
	dir    *datadir.Dir
	server *Server
}

// Attach gives access to the Postgres of the data directory cfg.Dir: to the one that another
// process runs there, or to one that it runs itself until Close. It waits its turn after another
// Attach, so that no Close cuts anybody off, and until a process has prepared the database that it
// starts. It tells cfg.Progress whom it waits for, if that takes a while. It fails with ErrNoCluster
// without a cluster, and creates nothing.
func Attach(ctx context.Context, cfg Config) (*Attached, error) {
	began, told := time.Now(), cfg.Progress == nil
	for {
		info, running, err := datadir.Running(cfg.Dir)
		if err != nil {
			return nil, err
		}
		if running && info.DatabaseURL != "" {
			return &Attached{url: info.DatabaseURL}, nil
		}
		if running && info.Ready {
			return nil, fmt.Errorf("the Mosey (pid %d) in %s uses a database of "+
				"its own: give its address in DATABASE_URL", info.PID, cfg.Dir)
		}
		if !running {
			attached, err := attachAlone(ctx, cfg)
			if inUse := new(datadir.InUseError); !errors.As(err, &inUse) {
				return attached, err
			}
		}
		// Somebody is just starting, or stopping, or uses it as this would.
		if !told && info.PID != 0 && (info.Doing != "" || time.Since(began) > datadir.TellAfter) {
			told = true
			cfg.Progress(info.Waits())
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

func attachAlone(ctx context.Context, cfg Config) (*Attached, error) {
	if _, err := clusterMajor(cfg.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Dir, err)
	}
	dir, err := datadir.Lock(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	// Nobody else may use what ends in a moment: others wait for it.
	if err := dir.Publish(datadir.Info{Transient: true}); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	server, err := Start(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Attached{url: server.URL(), dir: dir, server: server}, nil
}

// URL connects to the database.
func (a *Attached) URL() string { return a.url }

// Close stops what Attach started. See Server.Stop for ctx.
func (a *Attached) Close(ctx context.Context) error {
	if a.server == nil {
		return nil
	}
	return errors.Join(a.server.Stop(ctx), a.dir.Close())
}
