//go:build !linux && !darwin

package wiring

import "errors"

// DiskSpaceAt returns errors.ErrUnsupported.
func DiskSpaceAt(string) (Room, error) { return Room{}, errors.ErrUnsupported }
