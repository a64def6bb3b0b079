//go:build !linux && !darwin

package doctor

func openFilesMost() (uint64, error) { return 0, errPlatform }

var errPlatform = Absent("not supported on this system")
