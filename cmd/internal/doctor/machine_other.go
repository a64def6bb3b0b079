//go:build !linux && !darwin

package doctor

func maxOpenFiles() (uint64, error) { return 0, errPlatform }

var errPlatform = Absent("not supported on this system")
