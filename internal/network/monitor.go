package network

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// lately bounds the age of a target's result that counts.
	lately = time.Minute
	// second is the time of a repeated connection request: later successes prove a working network.
	second = time.Second
	// patience is the wait of a failure for the results of other targets.
	patience = 10 * time.Second
	// look is the polling interval during that wait.
	look = 250 * time.Millisecond
	// doubt bounds the sparing of an undecided target.
	doubt = 3 * time.Minute
	// few lost targets mean our fault without results about names, many mean it in any case.
	few, many = 3, 10
	// share means that a working network reaches at least one in share targets.
	share = 10
	// spared bounds how often a target is spared while others work, so that dead lists end.
	spared = 5
	// canaries is the limit of concurrent requests during an outage.
	canaries = 3
	// again is the minimum wait of a refused request; the maximum is three times it.
	again = 10 * time.Second
	// memory bounds the caching of an unused target outside of outages.
	memory = 10 * time.Minute
)

// Config configures a Monitor.
type Config struct {
	// Changed, if set, is called at the beginning and end of an outage. At the end Since is zero,
	// and Reason explains a false alarm. Changed must not block or call the Monitor.
	Changed func(crawl.Outage)
	// Jitter returns numbers in [0,1).
	Jitter func() float64
	// Patience is the wait of a failure for other results; 0 means 10 s. Doubt bounds the sparing
	// of an undecided target; 0 means 3 min, negative means no sparing.
	Patience, Doubt time.Duration
}

// Names resolves names. Watch sets a function to call after each lookup. answered includes "no such
// host"; known means that the host was found before.
type Names interface {
	Watch(heard func(host string, answered, known bool))
	Try(ctx context.Context)
}

// Monitor records the recently reached targets: addresses or hosts. It is safe for concurrent use.
type Monitor struct {
	Config

	mu    sync.Mutex
	sides [kinds]side
	// current began with the first spared failure that is still unexplained
	current crawl.Outage
	last    crawl.Outage

	names Names
	// triedAt is the start of the last new queries of names, and tried is closed after them
	triedAt time.Time
	tried   chan struct{}
}

// New returns a monitor without outages.
func New(cfg Config) *Monitor {
	cfg.Patience, cfg.Doubt = cmp.Or(cfg.Patience, patience), cmp.Or(cfg.Doubt, doubt)
	m := &Monitor{Config: cfg}
	for k := range m.sides {
		m.sides[k].targets = make(map[string]target)
	}
	return m
}

// Listen makes the monitor watch lookups of names. Call it before anything else.
func (m *Monitor) Listen(names Names) {
	m.names = names
	names.Watch(func(host string, answered, known bool) {
		if answered {
			m.Reached(host)
		} else {
			m.note(host, time.Now(), known)
		}
	})
}

// Down is the error for a request that does not count, because our network seems to be down.
type Down struct {
	Outage crawl.Outage
	// RetryIn is the wait before a retry.
	RetryIn time.Duration
}

func (d *Down) Error() string {
	return fmt.Sprintf("the network of this machine seems to be down since %s: %s: failures are not counted against sites",
		d.Outage.Since.UTC().Format(time.TimeOnly), d.Outage.Reason)
}

// Outage returns the present outage. Its Since is zero without an outage.
func (m *Monitor) Outage() crawl.Outage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// Admit admits a request, or returns a *Down during an outage of the target's kind. Call leave
// after the request. Known names and an empty key are always admitted.
func (m *Monitor) Admit(key string) (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := kindOf(key)
	s := &m.sides[k]
	if !s.certain || key == "" || k == byName && s.targets[key].worked {
		return func() {}, nil
	}
	if s.flying >= canaries {
		return nil, m.down()
	}
	s.flying++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.flying--
	}), nil
}

func (m *Monitor) down() *Down {
	wait := again + time.Duration(m.Jitter()*2*float64(again))
	return &Down{Outage: m.current, RetryIn: wait}
}

// Reached records that a target answered, even by a refusal. It ends an outage of its kind.
func (m *Monitor) Reached(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	s := &m.sides[kindOf(key)]
	s.tidy(now)
	s.targets[key] = target{reached: now, worked: true}
	if s.out {
		m.last = m.current
		m.last.Ended = now
		m.end(s, "")
	}
}

// end ends the outage of a kind. why explains a false alarm, or is empty.
func (m *Monitor) end(s *side, why string) {
	s.out, s.certain = false, false
	for _, other := range m.sides {
		if other.out {
			return
		}
	}
	m.current = crawl.Outage{}
	m.tell(crawl.Outage{Reason: why})
}

// Failure is an attempt that ended just now and could not reach its target.
type Failure struct {
	// Key is the target, and Why the observed failure.
	Key, Why string
	// Waited is the time without a sign of the target.
	Waited time.Duration
	// Spared is the time of all workers' withdrawn attempts since it was last reached.
	Spared time.Duration
	// Worked is set if stored facts show that it was reached, and not at fault since.
	Worked bool
	// Connected is set if a connection went silent. Only a certain outage spares such a target.
	Connected bool
}

// Failed judges a failure. It returns nil if the target is at fault, and a *Down if our network is.
// It may wait some seconds, at most until the context ends.
func (m *Monitor) Failed(ctx context.Context, f Failure) error {
	ended := time.Now()
	began := ended.Add(-f.Waited)
	since := began.Add(min(second, f.Waited/2))
	if down := m.caught(f.Key, began); down != nil {
		return down
	}
	if !f.Connected {
		m.note(f.Key, ended, f.Worked)
	}
	wait := time.NewTimer(m.Patience)
	defer wait.Stop()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	var tried <-chan struct{}
	for over := false; ; {
		switch m.judge(f, since, over) {
		case theirs:
			return nil
		case ours:
			return m.spare(f, ended)
		case unknown:
		}
		if tried == nil {
			tried = m.try(since)
		}
		select {
		case <-ticker.C:
		case <-wait.C:
			select {
			case <-tried:
			case <-ctx.Done():
			}
			over = true
		case <-ctx.Done():
			over = true
		}
		if down := m.caught(f.Key, began); down != nil { // an outage began and ended meanwhile
			return down
		}
	}
}

// try queries names again, unless it did so after since, and returns a channel that closes after.
func (m *Monitor) try(since time.Time) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.triedAt.After(since) {
		return m.tried
	}
	tried := make(chan struct{})
	m.triedAt, m.tried = time.Now(), tried
	if m.names == nil {
		close(tried)
		return tried
	}
	go func() {
		defer close(tried)
		ctx, cancel := context.WithTimeout(context.Background(), m.Patience)
		defer cancel()
		m.names.Try(ctx)
	}()
	return tried
}

// caught returns an outage that ended after an attempt began: later successes prove nothing.
func (m *Monitor) caught(key string, began time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.sides[kindOf(key)]
	t := s.targets[key]
	if !m.last.Ended.After(began) || t.times >= spared {
		return nil
	}
	t.times++
	s.targets[key] = t
	return &Down{Outage: m.last, RetryIn: time.Duration(m.Jitter() * float64(again))}
}

func (m *Monitor) note(key string, ended time.Time, worked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.sides[kindOf(key)]
	s.tidy(ended)
	t := s.targets[key]
	t.failed, t.worked = ended, t.worked || worked
	s.targets[key] = t
}

type fault int

const (
	unknown fault = iota
	ours
	theirs
)

// judge decides who is at fault, by the package's rules. over means that the wait has ended.
func (m *Monitor) judge(f Failure, since time.Time, over bool) fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.sides[kindOf(f.Key)]
	own := s.targets[f.Key]
	reached, failed, lost := s.count(f.Key, since)
	if own.lost() {
		lost++
	}
	if reached*share > failed || reached > 0 && own.times >= spared {
		m.charge(s, f.Key)
		return theirs
	}
	found, missed := m.found(f.Key, since)
	certain := missed || lost >= few && !found || lost >= many
	switch {
	case !over && (!certain || !s.certain):
		return unknown
	case certain:
		s.certain = true
		return ours
	case m.Doubt < 0, f.Spared > m.Doubt, f.Connected:
		m.charge(s, f.Key)
		m.explained(s, f.Key)
		return theirs
	default:
		s.certain = false
		return ours
	}
}

// found reports whether other names resolved after since, or else whether known names failed.
func (m *Monitor) found(but string, since time.Time) (found, missed bool) {
	for k, t := range m.sides[byName].targets {
		if k == but {
			continue
		}
		found = found || t.reached.After(since)
		missed = missed || t.lost() && t.failed.After(since)
	}
	return found, missed && !found
}

func (m *Monitor) charge(s *side, key string) {
	if t, known := s.targets[key]; known {
		t.fault = true
		s.targets[key] = t
	}
}

// explained ends an outage if all its failures are targets at fault.
func (m *Monitor) explained(s *side, key string) {
	if !s.out {
		return
	}
	for _, t := range s.targets {
		if t.times > 0 && !t.fault && time.Since(t.failed) < lately {
			return
		}
	}
	m.end(s, "no outage: "+key+" has been unreachable for so long that the failure is its own")
}

// spare attributes a failure to an outage.
func (m *Monitor) spare(f Failure, ended time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := kindOf(f.Key)
	s := &m.sides[k]
	if !f.Connected {
		t := s.targets[f.Key]
		t.times++
		s.targets[f.Key] = t
	}
	s.out = true
	if m.current.Since.IsZero() {
		verb := "reached"
		if k == byName {
			verb = "resolved"
		}
		m.current.Since = ended
		if n := s.unreached(); n > 1 {
			m.current.Reason = fmt.Sprintf("none of the last %d requested targets could be %s, most recently %s (%s)", n, verb, f.Key, f.Why)
		} else {
			m.current.Reason = fmt.Sprintf("%s, the only recent target, could not be %s (%s)", f.Key, verb, f.Why)
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
