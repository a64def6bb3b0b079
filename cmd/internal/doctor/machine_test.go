package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/internal/stack/datadir"
)

func TestDataDirectory(t *testing.T) {
	t.Parallel()
	dir := freshDir(t)
	requireFinding(t, (&Target{DataDir: dir}).look(t, "data-dir"), OK, "not in use")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "what was tried is removed")

	held, err := datadir.Lock(t.Context(), dir)
	require.NoError(t, err)
	requireFinding(t, (&Target{DataDir: dir}).look(t, "data-dir"), OK, "pid "+strconv.Itoa(os.Getpid()))
	require.NoError(t, held.Close())

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	requireFinding(t, (&Target{DataDir: file}).look(t, "data-dir"), Fault, "not a directory", "--data-dir")
	requireFinding(t, (&Target{}).look(t, "data-dir"), Skipped, "the environment names")
}

func TestPorts(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	p := &Target{DataDir: freshDir(t), Ports: []Port{{port, "Temporal"}}}
	requireFinding(t, p.look(t, "ports"), Note, strconv.Itoa(port), "is used by another process", "--temporal-port")
	require.NoError(t, listener.Close())
	requireFinding(t, p.look(t, "ports"), OK, "is free")
	p.Environ = wiring.Env{"TEMPORAL_ADDRESS=localhost:1"}
	requireFinding(t, p.look(t, "ports"), Skipped, "TEMPORAL_ADDRESS")
}

func TestRoom(t *testing.T) {
	t.Parallel()
	const gb = 1 << 30
	requireFinding(t, judgeDiskSpace("/d", wiring.DiskSpace{Free: 50 * gb, Size: 100 * gb, Inodes: 1e6, InodesTotal: 1e7}), OK, "/d")
	requireFinding(t, judgeDiskSpace("/d", wiring.DiskSpace{Free: gb, Size: 100 * gb}), Warning, "Free some space")
	requireFinding(t, judgeDiskSpace("/d", wiring.DiskSpace{Free: 1 << 20, Size: 100 * gb}), Fault, "Free some space")
	requireFinding(t, judgeDiskSpace("/d", wiring.DiskSpace{Free: 50 * gb, Size: 100 * gb, Inodes: 5000, InodesTotal: 1e7}), Warning, "5000 inodes")
	requireFinding(t, judgeDiskSpace("/d", wiring.DiskSpace{Free: 50 * gb, Size: 100 * gb, Inodes: 5, InodesTotal: 1e7}), Fault, "5 inodes")
	requireFine(t, (&Target{DataDir: freshDir(t)}).look(t, "disk"))
}

func TestMemory(t *testing.T) {
	t.Parallel()
	requireFinding(t, (&Target{Environ: wiring.Env{"GOMEMLIMIT=900TiB"}}).look(t, "memory"), Warning, "GOMEMLIMIT=900TiB")
	requireFine(t, (&Target{Environ: wiring.Env{"GOMEMLIMIT=64MiB"}}).look(t, "memory"))
	requireFine(t, (&Target{Environ: wiring.Env{"GOMEMLIMIT=off"}}).look(t, "memory"))
}

func TestFiles(t *testing.T) {
	t.Parallel()
	requireFinding(t, (&Target{Fetch: wiring.FetchFlags{MaxFetches: 1 << 40}}).look(t, "files"), Warning, "ulimit -n")
}
