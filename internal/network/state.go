package network

import (
	"net/netip"
	"time"
)

type kind int

const (
	byName kind = iota
	byIPv4
	byIPv6
	kinds
)

func kindOf(key string) kind {
	addr, err := netip.ParseAddr(key)
	switch {
	case err != nil:
		return byName
	case addr.Unmap().Is4():
		return byIPv4
	default:
		return byIPv6
	}
}

type kindState struct {
	targets  map[string]target
	tidiedAt time.Time
	// isDown is set while failures are withdrawn, and isCertain if the outage is certainly ours
	isDown, isCertain bool
	canaries          int // canaries
}

// target holds the results of the last attempts to reach it.
type target struct {
	reached time.Time
	failed  time.Time // zero if it was reached since
	// everReached is set if it was ever reached, also by stored facts; atFault if it was at fault
	// since
	everReached, atFault bool
	// withdrawals counts the withdrawn failures since it was reached
	withdrawals int
}

// lost reports whether a target was reached before and fails now, which may be our fault.
func (t target) lost() bool { return t.everReached && !t.atFault && !t.failed.IsZero() }

// count counts the other targets that were reached after since, that failed, and that are lost.
func (s *kindState) count(except string, since time.Time) (reached, failed, lost int) {
	for k, t := range s.targets {
		if k == except {
			continue
		}
		switch {
		case t.reached.After(since):
			reached++
		case t.failed.After(since):
			failed++
		}
		if t.lost() {
			lost++
		}
	}
	return reached, failed, lost
}

// tidy drops unused targets, except in an outage, which admits few requests.
func (s *kindState) tidy(now time.Time) {
	if s.isDown || now.Sub(s.tidiedAt) < recentWindow {
		return
	}
	s.tidiedAt = now
	for k, t := range s.targets {
		if now.Sub(t.reached) > maxTargetAge && now.Sub(t.failed) > maxTargetAge {
			delete(s.targets, k)
		}
	}
}
