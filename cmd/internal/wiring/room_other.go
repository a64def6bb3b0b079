//go:build !linux && !darwin

package wiring

import "errors"

// RoomAt returns errors.ErrUnsupported.
func RoomAt(string) (Room, error) { return Room{}, errors.ErrUnsupported }
