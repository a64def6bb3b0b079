//go:build linux || darwin

package wiring

import (
	"fmt"
	"syscall"
)

// RoomAt returns the free and total space of the disk of a directory.
func RoomAt(dir string) (Room, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return Room{}, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	block := uint64(stat.Bsize) //nolint:gosec // a size is not negative
	return Room{Free: stat.Bavail * block, Size: stat.Blocks * block, Inodes: stat.Ffree, InodesAll: stat.Files}, nil
}
