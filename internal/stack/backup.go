package stack

import (
	"context"
	"path/filepath"

	"github.com/mosey-web/mosey/internal/stack/temporal"
)

// temporalDir is the folder of Temporal's state in a data directory.
func temporalDir(dataDir string) string { return filepath.Join(dataDir, "temporal") }

// SnapshotTemporal copies the state of a data directory's own Temporal to a file that must not
// exist. It may run meanwhile. It returns false if the directory has none.
func SnapshotTemporal(ctx context.Context, dataDir, to string) (found bool, err error) {
	return temporal.Snapshot(ctx, temporalDir(dataDir), to)
}

// RestoreTemporal moves a file that SnapshotTemporal wrote into a data directory that nobody
// uses.
func RestoreTemporal(dataDir, from string) error { return temporal.Restore(temporalDir(dataDir), from) }
