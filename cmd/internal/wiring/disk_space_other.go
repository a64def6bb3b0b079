//go:build !linux && !darwin

package wiring

import "errors"

// DiskSpaceAt returns errors.ErrUnsupported.
func DiskSpaceAt(string) (DiskSpace, error) { return DiskSpace{}, errors.ErrUnsupported }
