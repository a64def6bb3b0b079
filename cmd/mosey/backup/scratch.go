package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// scratch is a folder of a data directory that one backup at a time works in. A process that is
// killed leaves files there, which the next one removes.
type scratch struct {
	dir  string
	held *datadir.Dir
}

// openScratch takes the folder of backups of a data directory, and empties it.
func openScratch(ctx context.Context, dataDir string) (*scratch, error) {
	dir := filepath.Join(dataDir, "backup")
	held, err := datadir.Lock(ctx, dir)
	if inUse, is := errors.AsType[*datadir.InUseError](err); is {
		return nil, fmt.Errorf("a backup of %s is being made by another process (pid %d): wait until it has ended", dataDir, inUse.PID)
	}
	if err != nil {
		return nil, err
	}
	s := &scratch{dir, held}
	if err := removeWithin(dir); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return s, nil
}

// close empties the folder and gives it up.
func (s *scratch) close() error { return errors.Join(removeWithin(s.dir), s.held.Close()) }

// lostAndFound is a folder that some disks have.
const lostAndFound = "lost+found"

// removeWithin removes what is in a directory that this process holds.
func removeWithin(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := entry.Name(); !datadir.IsOwn(name) && name != lostAndFound {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}
