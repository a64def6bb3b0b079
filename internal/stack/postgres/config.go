package postgres

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Config configures a private Postgres.
type Config struct {
	// Dir is the absolute path of Mosey's data directory. It must exist, and this process must hold
	// it. The cluster is in its folder postgres, the log in its file postgres.log.
	Dir string

	// Home is the data directory that caches downloaded binaries. Defaults to Dir.
	Home string

	// Logger gets errors while Postgres runs. Nil discards them.
	Logger *slog.Logger

	// Progress receives short notices about slow steps and failures, from any goroutine.
	Progress func(string)

	// sources overrides the binaries in tests.
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
		c.sources = &sources{
			bin: os.Getenv(binVariable), path: os.Getenv("PATH"), globs: usualDirs(),
			cache: cacheDir(cmp.Or(c.Home, c.Dir)), repository: defaultRepository,
		}
	}
	return c
}

const (
	// role and database are the superuser and the database of every cluster.
	role     = "mosey"
	database = "mosey"

	// minMajor is the oldest major version for a new cluster.
	minMajor = 15

	// maxLogBytes bounds postgres.log, because a faulty server could fill the disk.
	maxLogBytes = 16 << 20

	// logCheckInterval is the interval for checking that bound while a server runs.
	logCheckInterval = time.Minute
)

// ClusterDir returns the closed folder of the cluster, its socket and its password.
func ClusterDir(dir string) string { return filepath.Join(dir, "postgres") }

// dataDir returns the folder that Postgres calls its data directory.
func dataDir(dir string) string { return filepath.Join(ClusterDir(dir), "data") }

func passwordFile(dir string) string {
	return filepath.Join(ClusterDir(dir), "password")
}

// passFile returns the libpq passfile of the password. Addresses name it, and hold no password.
func passFile(dir string) string { return filepath.Join(ClusterDir(dir), "pgpass") }

func logPath(dir string) string { return filepath.Join(dir, "postgres.log") }

// tunables is written once to the configuration file of a new cluster. The owner may change the
// file. The command line sets the values that Mosey depends on.
//
// Memory is modest, and parallel plans and JIT compilation do not pay: there is one client with
// small statements, beside Temporal. Durability keeps its defaults: commits survive a machine
// crash.
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
