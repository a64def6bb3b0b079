package network

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// lately is how long what became of a target counts.
	lately = time.Minute
	// second is when what asks for a connection is sent for the second time: the
	// network was there if another target was reached later than that.
	second = time.Second
	// patience is how long a failure waits for what becomes of other targets.
	patience = 10 * time.Second
	// look is how often it looks meanwhile.
	look = 250 * time.Millisecond
	// doubt is how long a target that cannot be reached has the benefit of the doubt
	// while nothing else is asked that could decide it.
	doubt = 3 * time.Minute
	// few is the number of targets below which a failure of all of them may as well
	// be theirs.
	few = 3
	// share is the part of the targets, one in so many, that must be reached for the
	// network to count as there: where fewer are, it is failing.
	share = 10
	// spared is how often a target that could not be reached is spared while some
	// others could, so that a list of mostly dead sites comes to an end.
	spared = 5
	// canaries is how many requests at a time are let through during an outage.
	canaries = 3
	// again is after how long a request that is not let through is tried again, at the
	// least; twice more at the most.
	again = 10 * time.Second
	// memory is how long a target is remembered that was not asked.
	memory = 10 * time.Minute
)

// Config is what a Monitor needs.
type Config struct {
	// Changed, where set, is told of an outage, and of its end: then its Since is
	// zero, and its Reason, where set, says why it was none. It must not block, nor
	// call the Monitor.
	Changed func(crawl.Outage)
	// Jitter returns numbers in [0,1).
	Jitter func() float64
	// Patience and Doubt replace 10 s and 3 min, how long a failure waits for what
	// becomes of other targets and how long a target that is asked alone is spared;
	// 0 keeps them. A negative Doubt spares none.
	Patience, Doubt time.Duration
}

// Monitor knows which targets could be reached lately. A target is an address, or a
// host whose address could not be found. It is safe for concurrent use.
type Monitor struct {
	Config

	mu      sync.Mutex
	targets map[string]target
	tidied  time.Time
	// current began when the first failure was spared that nothing has explained yet
	current crawl.Outage
	// broad says that so many targets could not be reached that it is no fault of theirs
	broad bool
	// last is the last outage, which has ended
	last   crawl.Outage
	flying int // canaries
}

// target is what became of the last attempts to reach it.
type target struct {
	reached time.Time
	failed  time.Time // zero if it was reached since
	// times is how often it was spared since it was reached
	times int
}

// New makes a monitor that knows of no outage.
func New(cfg Config) *Monitor {
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	if cfg.Doubt == 0 {
		cfg.Doubt = doubt
	}
	return &Monitor{Config: cfg, targets: make(map[string]target)}
}

// Down is the error for a request that was not made, or is not recorded, because
// this machine's network seems to be down.
type Down struct {
	Outage crawl.Outage
	// RetryIn is when to try again.
	RetryIn time.Duration
}

// Error says since when, and what was seen.
func (d *Down) Error() string {
	return fmt.Sprintf("this machine's network seems to be down since %s: %s: nothing is held against the sites",
		d.Outage.Since.UTC().Format(time.TimeOnly), d.Outage.Reason)
}

// Outage is what is known of an outage; its Since is zero where there is none.
func (m *Monitor) Outage() crawl.Outage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// Admit lets a request through, or says that there is an outage: a *Down. It is to
// be followed by leave, once the request is done.
func (m *Monitor) Admit() (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.broad {
		return func() {}, nil
	}
	if m.flying >= canaries {
		return nil, m.down()
	}
	m.flying++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.flying--
	}), nil
}

func (m *Monitor) down() *Down {
	wait := again + time.Duration(m.Jitter()*2*float64(again))
	return &Down{Outage: m.current, RetryIn: wait}
}

// Reached notes that a target was reached: it answered, if only by refusing. That
// ends an outage.
func (m *Monitor) Reached(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.tidy(now)
	m.targets[key] = target{reached: now}
	if m.current.Since.IsZero() {
		return
	}
	m.last = m.current
	m.last.Ended = now
	m.end("")
}

// end ends the outage; why it was none, if it was.
func (m *Monitor) end(why string) {
	m.current, m.broad = crawl.Outage{}, false
	m.tell(crawl.Outage{Reason: why})
}

// Failure is an attempt that ended just now and could not reach its target.
type Failure struct {
	// Key is the target, and Why what was seen.
	Key, Why string
	// Waited is for how long there was no sign of the target.
	Waited time.Duration
	// Spared is for how long attempts for it were taken back already, by whichever
	// worker, since it was reached.
	Spared time.Duration
	// Connected is of a target that was connected to, and then went silent: it is spared
	// only if there is an outage for certain.
	Connected bool
}

// Failed judges a failure. It returns nil if that is the target's fault, and a *Down
// if it is taken for an outage of ours. It may take some seconds to tell, until the
// context ends at the latest.
func (m *Monitor) Failed(ctx context.Context, f Failure) error {
	ended := time.Now()
	if down := m.caught(f.Key, ended.Add(-f.Waited)); down != nil {
		return down
	}
	since := ended.Add(-f.Waited).Add(min(second, f.Waited/2))
	if !f.Connected {
		m.note(f.Key, ended)
	}
	wait := time.NewTimer(m.Patience)
	defer wait.Stop()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for over := false; ; {
		switch m.judge(f, since, over) {
		case theirs:
			return nil
		case ours:
			return m.spare(f, ended)
		case unknown:
		}
		select {
		case <-ticker.C:
		case <-wait.C:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
}

// caught returns an outage that ended after an attempt had begun: that others were
// reached since says nothing about it.
func (m *Monitor) caught(key string, began time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.targets[key]
	if !m.last.Ended.After(began) || t.times >= spared {
		return nil
	}
	t.times++
	m.targets[key] = t
	return &Down{Outage: m.last, RetryIn: time.Duration(m.Jitter() * float64(again))}
}

func (m *Monitor) note(key string, ended time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tidy(ended)
	t := m.targets[key]
	t.failed = ended
	m.targets[key] = t
}

// tidy forgets targets that were not asked for long.
func (m *Monitor) tidy(now time.Time) {
	if now.Sub(m.tidied) < lately {
		return
	}
	m.tidied = now
	for k, t := range m.targets {
		if now.Sub(t.reached) > memory && now.Sub(t.failed) > memory {
			delete(m.targets, k)
		}
	}
}

type fault int

const (
	unknown fault = iota
	ours
	theirs
)

// judge says whose fault a failure is, as far as can be told by now. When it is
// over there is no more to wait for.
func (m *Monitor) judge(f Failure, since time.Time, over bool) fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	reached, failed, unreached := 0, 0, 0
	for k, t := range m.targets {
		if time.Since(t.failed) < lately {
			unreached++
		}
		switch {
		case k == f.Key:
		case t.reached.After(since):
			reached++
		case t.failed.After(since):
			failed++
		}
	}
	many := m.broad || unreached >= few
	doubted := m.Doubt < 0 || f.Spared > m.Doubt
	switch {
	case reached*share > failed, reached > 0 && m.targets[f.Key].times >= spared:
		return theirs
	case many && (over || !m.current.Since.IsZero()):
		return ours
	case doubted && !many, f.Connected && over:
		m.explained(f.Key)
		return theirs
	case over:
		return ours
	default:
		return unknown
	}
}

// explained ends an outage of which there is no sign but a target that is at fault
// itself.
func (m *Monitor) explained(key string) {
	if m.current.Since.IsZero() || m.broad {
		return
	}
	m.end("only " + key + " cannot be reached, for so long that it is held to be at fault itself")
}

// unreached is how many targets could not be reached lately.
func (m *Monitor) unreached() (n int) {
	for _, t := range m.targets {
		if time.Since(t.failed) < lately {
			n++
		}
	}
	return n
}

// spare takes a failure for an outage.
func (m *Monitor) spare(f Failure, ended time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !f.Connected {
		t := m.targets[f.Key]
		t.times++
		m.targets[f.Key] = t
	}
	unreached := m.unreached()
	m.broad = m.broad || unreached >= few
	if m.current.Since.IsZero() {
		m.current.Since = ended
		if unreached > 1 {
			m.current.Reason = fmt.Sprintf("none of %d asked lately could be reached, the last %s (%s)", unreached, f.Key, f.Why)
		} else {
			m.current.Reason = fmt.Sprintf("%s, all that was asked lately, could not be reached (%s)", f.Key, f.Why)
		}
		m.tell(m.current)
	}
	return m.down()
}

func (m *Monitor) tell(o crawl.Outage) {
	if m.Changed != nil {
		m.Changed(o)
	}
}
