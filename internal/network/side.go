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

type side struct {
	targets map[string]target
	tidied  time.Time
	// out is set while failures are spared, and certain if the outage is certainly ours
	out, certain bool
	flying       int // canaries
}

// target holds the results of the last attempts to reach it.
type target struct {
	reached time.Time
	failed  time.Time // zero if it was reached since
	// worked is set if it was ever reached, also by stored facts; fault if it was at fault since
	worked, fault bool
	// times counts the spared failures since it was reached
	times int
}

// lost reports whether a target worked before and fails now, which may be our fault.
func (t target) lost() bool { return t.worked && !t.fault && !t.failed.IsZero() }

// count counts the other targets that were reached after since, that failed, and that are lost.
func (s *side) count(but string, since time.Time) (reached, failed, lost int) {
	for k, t := range s.targets {
		if k == but {
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

// unreached counts the targets with a recent failure.
func (s *side) unreached() (n int) {
	for _, t := range s.targets {
		if time.Since(t.failed) < lately {
			n++
		}
	}
	return n
}

// tidy drops unused targets, except in an outage, which admits few requests.
func (s *side) tidy(now time.Time) {
	if s.out || now.Sub(s.tidied) < lately {
		return
	}
	s.tidied = now
	for k, t := range s.targets {
		if now.Sub(t.reached) > memory && now.Sub(t.failed) > memory {
			delete(s.targets, k)
		}
	}
}
