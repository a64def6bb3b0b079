//go:build !linux && !darwin

package wiring

import "errors"

// RoomAt is not known here: errors.ErrUnsupported.
func RoomAt(string) (Room, error) { return Room{}, errors.ErrUnsupported }
