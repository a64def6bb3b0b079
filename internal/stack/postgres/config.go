package postgres

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"time"
)

// Config says where and how to run Postgres.
type Config struct {
	// Dir is the absolute path of Mosey's data directory, which must exist and be held by this
	// process. The cluster lies in its folder postgres, the log in its file postgres.log.
	Dir string

	// Home is the data directory whose downloaded binaries are used. Defaults to Dir.
	Home string

	// Logger gets what goes wrong while Postgres runs. Defaults to discarding.
	Logger *slog.Logger

	// Progress is told, in a few words for a person, of slow steps and failures, from any
	// goroutine.
	Progress func(string)

	// sources is where binaries come from. Tests set it.
	sources *sources
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.sources == nil {
		found := defaultSources(cmp.Or(c.Home, c.Dir))
		c.sources = &found
	}
	return c
}

const (
	// role and database are the superuser and the database of every cluster.
	role     = "mosey"
	database = "mosey"

	// minMajor is the oldest Postgres that a new cluster is made with.
	minMajor = 15

	// maxLogBytes bounds postgres.log, with which a faulty server could fill the disk.
	maxLogBytes = 16 << 20

	// logCheckInterval is how often a running server's log is held to that.
	logCheckInterval = time.Minute
)

// ClusterDir holds the cluster, its socket and its password, for the user that Postgres runs as
// alone.
func ClusterDir(dir string) string { return filepath.Join(dir, "postgres") }

// dataDir is what Postgres knows as its data directory.
func dataDir(dir string) string { return filepath.Join(ClusterDir(dir), "data") }

func passwordFile(dir string) string {
	return filepath.Join(ClusterDir(dir), "password")
}

// passFile holds the password in the form of libpq's passfile, which addresses name in its place.
func passFile(dir string) string { return filepath.Join(ClusterDir(dir), "pgpass") }

func logPath(dir string) string { return filepath.Join(dir, "postgres.log") }

// tunables are written once, to the configuration file of a new cluster, where its owner may change
// them. What Mosey depends on is given on the command line instead.
//
// There is one client, on one machine, which it shares with Temporal: memory is modest, and
// statements are too small for parallel plans or compilation to pay. Durability is left at its
// defaults: a commit that was confirmed has to survive the machine.
const tunables = `
# Settings of Mosey. Change them as you like: they are written once.
shared_buffers = '256MB'
max_connections = 100
min_wal_size = '256MB'
max_wal_size = '2GB'
checkpoint_timeout = '15min'
random_page_cost = 1.1
max_parallel_workers_per_gather = 0
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
`
