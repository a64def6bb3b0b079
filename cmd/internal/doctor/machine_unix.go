//go:build linux || darwin

package doctor

import (
	"fmt"
	"syscall"
)

// roomAt tells how full the disk is that a directory is on.
func roomAt(dir string) (room, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return room{}, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	block := uint64(stat.Bsize) //nolint:gosec // a size is not negative
	return room{free: stat.Bavail * block, size: stat.Blocks * block, inodes: stat.Ffree, inodesAll: stat.Files}, nil
}

// openFilesMost is how many files this process may have open.
func openFilesMost() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("look how many files may be open: %w", err)
	}
	return limit.Cur, nil
}
