package network

import (
	"net/netip"
	"time"
)

// kind is what a target has to be reached by.
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

// side is what is known of the targets of one kind.
type side struct {
	targets map[string]target
	tidied  time.Time
	// out says that failures are spared, and certain that it is our outage
	out, certain bool
	flying       int // canaries
}

// target is what became of the last attempts to reach it.
type target struct {
	reached time.Time
	failed  time.Time // zero if it was reached since
	// worked is set if it was reached before, also by stored facts; fault if it was at fault since
	worked, fault bool
	// times is how often it was spared since it was reached
	times int
}

// lost reports whether a target worked before and fails now, which may be our fault.
func (t target) lost() bool { return t.worked && !t.fault && !t.failed.IsZero() }

// count counts the targets but one that were reached since an instant, that failed, and that are lost.
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

// unreached is how many targets could not be reached lately.
func (s *side) unreached() (n int) {
	for _, t := range s.targets {
		if time.Since(t.failed) < lately {
			n++
		}
	}
	return n
}

// tidy forgets targets that were not asked for long, but in an outage: then few are asked.
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
