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
	// recentWindow bounds the age of a target's result that counts.
	recentWindow = time.Minute
	// reconnectTime is the time of a repeated connection request: later successes prove a working
	// network.
	reconnectTime = time.Second
	// defaultEvidenceTimeout is the wait of a failure for the results of other targets.
	defaultEvidenceTimeout = 10 * time.Second
	// evidencePollInterval is the polling interval during that wait.
	evidencePollInterval = 250 * time.Millisecond
	// defaultDoubtLimit bounds the time in which failures of an undecided target are withdrawn.
	defaultDoubtLimit = 3 * time.Minute
	// minLostSuspected lost targets mean our fault without results about names. minLostCertain lost
	// targets mean it in any case.
	minLostSuspected, minLostCertain = 3, 10
	// maxFailuresPerReached means that a working network reaches at least one in
	// maxFailuresPerReached targets.
	maxFailuresPerReached = 10
	// maxWithdrawals bounds the withdrawn failures of a target while others work, so that dead
	// lists end.
	maxWithdrawals = 5
	// maxCanaries is the limit of concurrent requests during an outage.
	maxCanaries = 3
	// minRetryWait is the minimum wait of a refused request; the maximum is three times it.
	minRetryWait = 10 * time.Second
	// maxTargetAge bounds the caching of an unused target outside of outages.
	maxTargetAge = 10 * time.Minute
)

// Config configures a Monitor.
type Config struct {
	// OnChange, if set, is called at the beginning and end of an outage. At the end Since is zero,
	// and Reason explains a false alarm. OnChange must not block or call the Monitor.
	OnChange func(crawl.Outage)
	// Jitter returns numbers in [0,1).
	Jitter func() float64
	// EvidenceTimeout is the wait of a failure for other results; 0 means 10 s. DoubtLimit bounds
	// the time in which failures of an undecided target are withdrawn; 0 means 3 min, negative
	// means no withdrawals.
	EvidenceTimeout, DoubtLimit time.Duration
}

// NameResolver resolves names. Watch sets a function to call after each lookup. answered includes
// "no such host"; known means that the host was found before.
type NameResolver interface {
	Watch(heard func(host string, answered, known bool))
	Probe(ctx context.Context)
}

// Monitor records the recently reached targets: addresses or hosts. It is safe for concurrent use.
type Monitor struct {
	Config

	mu     sync.Mutex
	states [kinds]kindState
	// current began with the first withdrawn failure that is still unexplained
	current crawl.Outage
	last    crawl.Outage

	resolver NameResolver
	// probedAt is the start of the last new queries of names, and probeDone is closed after them
	probedAt  time.Time
	probeDone chan struct{}
}

// New returns a monitor without outages.
func New(cfg Config) *Monitor {
	cfg.EvidenceTimeout, cfg.DoubtLimit = cmp.Or(cfg.EvidenceTimeout, defaultEvidenceTimeout), cmp.Or(cfg.DoubtLimit, defaultDoubtLimit)
	m := &Monitor{Config: cfg}
	for k := range m.states {
		m.states[k].targets = make(map[string]target)
	}
	return m
}

// WatchNames makes the monitor watch lookups of names. Call it before anything else.
func (m *Monitor) WatchNames(resolver NameResolver) {
	m.resolver = resolver
	resolver.Watch(func(host string, answered, known bool) {
		if answered {
			m.RecordReached(host)
		} else {
			m.recordFailure(host, time.Now(), known)
		}
	})
}

// DownError is the error for a request that does not count, because our network seems to be down.
type DownError struct {
	Outage crawl.Outage
	// RetryIn is the wait before a retry.
	RetryIn time.Duration
}

func (d *DownError) Error() string {
	return fmt.Sprintf("the network of this machine seems to be down since %s: %s: failures are not counted against sites",
		d.Outage.Since.UTC().Format(time.TimeOnly), d.Outage.Reason)
}

// Outage returns the present outage. Its Since is zero without an outage.
func (m *Monitor) Outage() crawl.Outage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// Admit admits a request, or returns a *DownError during an outage of the target's kind. Call leave
// after the request. Known names and an empty key are always admitted.
func (m *Monitor) Admit(key string) (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := kindOf(key)
	s := &m.states[k]
	if !s.isCertain || key == "" || k == byName && s.targets[key].everReached {
		return func() {}, nil
	}
	if s.canaries >= maxCanaries {
		return nil, m.newDownError()
	}
	s.canaries++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.canaries--
	}), nil
}

func (m *Monitor) newDownError() *DownError {
	wait := minRetryWait + time.Duration(m.Jitter()*2*float64(minRetryWait))
	return &DownError{Outage: m.current, RetryIn: wait}
}

// RecordReached records that a target responded, even by a refusal. It ends an outage of its kind.
func (m *Monitor) RecordReached(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	s := &m.states[kindOf(key)]
	s.tidy(now)
	s.targets[key] = target{reached: now, everReached: true}
	if s.isDown {
		m.last = m.current
		m.last.Ended = now
		m.endOutage(s, "")
	}
}

// endOutage ends the outage of a kind. reason explains a false alarm, or is empty.
func (m *Monitor) endOutage(s *kindState, reason string) {
	s.isDown, s.isCertain = false, false
	for _, other := range m.states {
		if other.isDown {
			return
		}
	}
	m.current = crawl.Outage{}
	m.notify(crawl.Outage{Reason: reason})
}

// Failure is an attempt that ended just now and could not reach its target.
type Failure struct {
	// Key is the target, and Reason the observed failure.
	Key, Reason string
	// Waited is the time without a sign of the target.
	Waited time.Duration
	// WithdrawnTime is the time of all workers' withdrawn attempts since it was last reached.
	WithdrawnTime time.Duration
	// ReachedBefore is set if stored facts show that it was reached, and not at fault since.
	ReachedBefore bool
	// Connected is set if a connection went silent. Only a certain outage withdraws such a failure.
	Connected bool
}

// JudgeFailure judges a failure. It returns nil if the target is at fault, and a *DownError if our
// network is. It may wait some seconds, at most until the context ends.
func (m *Monitor) JudgeFailure(ctx context.Context, f Failure) error {
	ended := time.Now()
	began := ended.Add(-f.Waited)
	since := began.Add(min(reconnectTime, f.Waited/2))
	if f.Connected {
		since = ended // the response may have been lost at any time before
	}
	if down := m.overlappedOutage(f.Key, began); down != nil {
		return down
	}
	if !f.Connected {
		m.recordFailure(f.Key, ended, f.ReachedBefore)
	}
	timeout := time.NewTimer(m.EvidenceTimeout)
	defer timeout.Stop()
	ticker := time.NewTicker(evidencePollInterval)
	defer ticker.Stop()
	var probeDone <-chan struct{}
	for timedOut := false; ; {
		switch m.judge(f, since, timedOut) {
		case verdictTheirs:
			return nil
		case verdictOurs:
			return m.withdraw(f, ended)
		case verdictUnknown:
		}
		if probeDone == nil {
			probeDone = m.probeNames(since)
		}
		select {
		case <-ticker.C:
		case <-timeout.C:
			select {
			case <-probeDone:
			case <-ctx.Done():
			}
			timedOut = true
		case <-ctx.Done():
			timedOut = true
		}
		if down := m.overlappedOutage(f.Key, began); down != nil { // an outage began and ended meanwhile
			return down
		}
	}
}

// probeNames queries names again, unless it did so after since, and returns a channel that closes
// after.
func (m *Monitor) probeNames(since time.Time) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probedAt.After(since) {
		return m.probeDone
	}
	done := make(chan struct{})
	m.probedAt, m.probeDone = time.Now(), done
	if m.resolver == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), m.EvidenceTimeout)
		defer cancel()
		m.resolver.Probe(ctx)
	}()
	return done
}

// overlappedOutage returns an outage that ended after an attempt began, or that keeps addresses and
// so name servers out of reach. Later successes prove nothing then.
func (m *Monitor) overlappedOutage(key string, began time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, outage := &m.states[kindOf(key)], m.last
	overlapped := outage.Ended.After(began)
	if kindOf(key) == byName && (m.states[byIPv4].isCertain || m.states[byIPv6].isCertain) {
		overlapped, outage = true, m.current
	}
	failed := s.targets[key]
	if !overlapped || failed.withdrawals >= maxWithdrawals {
		return nil
	}
	failed.withdrawals++
	s.targets[key] = failed
	return &DownError{Outage: outage, RetryIn: time.Duration(m.Jitter() * float64(minRetryWait))}
}

func (m *Monitor) recordFailure(key string, ended time.Time, reachedBefore bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.states[kindOf(key)]
	s.tidy(ended)
	t := s.targets[key]
	t.failed, t.everReached = ended, t.everReached || reachedBefore
	s.targets[key] = t
}

type verdict int

const (
	verdictUnknown verdict = iota
	verdictOurs
	verdictTheirs
)

// judge decides who is at fault, by the package's rules. timedOut means that the wait has ended.
func (m *Monitor) judge(f Failure, since time.Time, timedOut bool) verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.states[kindOf(f.Key)]
	self := s.targets[f.Key]
	reached, failed, lost := s.count(f.Key, since)
	if self.lost() {
		lost++
	}
	if reached*maxFailuresPerReached > failed || reached > 0 && self.withdrawals >= maxWithdrawals {
		m.markAtFault(s, f.Key)
		return verdictTheirs
	}
	found, missed := m.otherNames(f.Key, since)
	certain := missed || lost >= minLostSuspected && !found || lost >= minLostCertain
	switch {
	case !timedOut && (!certain || !s.isCertain):
		return verdictUnknown
	case certain:
		s.isCertain = true
		return verdictOurs
	case m.DoubtLimit < 0, f.WithdrawnTime > m.DoubtLimit, f.Connected:
		m.markAtFault(s, f.Key)
		m.endIfExplained(s, f.Key)
		return verdictTheirs
	default:
		s.isCertain = false
		return verdictOurs
	}
}

// otherNames reports whether other names resolved after since, or else whether known names failed.
func (m *Monitor) otherNames(except string, since time.Time) (resolved, missed bool) {
	for k, t := range m.states[byName].targets {
		if k == except {
			continue
		}
		resolved = resolved || t.reached.After(since)
		missed = missed || t.lost() && t.failed.After(since)
	}
	return resolved, missed && !resolved
}

func (m *Monitor) markAtFault(s *kindState, key string) {
	if t, known := s.targets[key]; known {
		t.atFault = true
		s.targets[key] = t
	}
}

// endIfExplained ends an outage if all its failures are targets at fault.
func (m *Monitor) endIfExplained(s *kindState, key string) {
	if !s.isDown {
		return
	}
	for _, t := range s.targets {
		if t.withdrawals > 0 && !t.atFault && time.Since(t.failed) < recentWindow {
			return
		}
	}
	m.endOutage(s, "no outage: "+key+" has been unreachable for so long that the failure is its own")
}

// withdraw attributes a failure to an outage.
func (m *Monitor) withdraw(f Failure, ended time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := kindOf(f.Key)
	s := &m.states[k]
	if !f.Connected {
		t := s.targets[f.Key]
		t.withdrawals++
		s.targets[f.Key] = t
	}
	s.isDown = true
	if m.current.Since.IsZero() {
		verb := "reached"
		if k == byName {
			verb = "resolved"
		}
		m.current.Since = ended
		n := 0
		for _, t := range s.targets {
			if time.Since(t.failed) < recentWindow {
				n++
			}
		}
		if n > 1 {
			m.current.Reason = fmt.Sprintf("none of the last %d requested targets could be %s, most recently %s (%s)", n, verb, f.Key, f.Reason)
		} else {
			m.current.Reason = fmt.Sprintf("%s, the only recent target, could not be %s (%s)", f.Key, verb, f.Reason)
		}
		m.notify(m.current)
	}
	return m.newDownError()
}

func (m *Monitor) notify(o crawl.Outage) {
	if m.OnChange != nil {
		m.OnChange(o)
	}
}
