//go:build linux || darwin

package wiring

import (
	"fmt"
	"syscall"
)

// DiskSpaceAt returns the free and total space of the disk of a directory.
func DiskSpaceAt(dir string) (DiskSpace, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return DiskSpace{}, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	block := uint64(stat.Bsize) //nolint:gosec // a size is not negative
	return DiskSpace{Free: stat.Bavail * block, Size: stat.Blocks * block, Inodes: stat.Ffree, InodesTotal: stat.Files}, nil
}
