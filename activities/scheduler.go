package activities

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/internal/request"
)

// Completer completes handed-over activities and sends their heartbeats. A client.Client is one.
type Completer interface {
	CompleteActivity(ctx context.Context, token []byte, result any, err error) error
	RecordActivityHeartbeat(ctx context.Context, token []byte, details ...any) error
}

const (
	// servedPerFetch is the number of concurrently served batches per concurrent request, so that as
	// many batches read and record as request.
	servedPerFetch = 2
	// beatParallel caps concurrent heartbeats. On a busy machine one takes half a second, and the
	// heartbeats of 10,000 domains must not take longer than half of their time-out.
	beatParallel = 128
	// beatLook is the interval of checks for due heartbeats. A heartbeat is due after 1/beatPart of
	// the activity's time-out. beatSpan limits one heartbeat.
	beatLook = 5 * time.Second
	beatPart = 2
	beatSpan = 30 * time.Second
	// completeSpan limits an attempt to report a result to Temporal.
	completeSpan = time.Minute
)

// scheduler serves batches of pages with a bounded number of goroutines. A batch that waits, for
// its domain's slot or for its turn here, has handed its activity over and is a value in a heap. It
// is safe for concurrent use.
type scheduler struct {
	completer Completer
	log       *slog.Logger
	most      int

	mu sync.Mutex
	// held contains the activities that were handed over.
	held map[*task]struct{}
	// due contains the waiting tasks of fast sites and of slow sites, each in order.
	due    [2]tasks
	served [2]int
	timer  *time.Timer
	beats  *time.Timer
	// closed is set once no more steps are taken, handedOver once all waiting tasks must end.
	closed, handedOver bool
	ended              sync.WaitGroup
}

// task is an activity that was handed over.
type task struct {
	*batch

	call
	// beat is the time of the last heartbeat.
	beat time.Time
	// cancelled is set when nobody wants the result; cancel is set while the task takes steps.
	cancelled bool
	cancel    context.CancelFunc
}

func newScheduler(c Completer, fetches int, log *slog.Logger) *scheduler {
	s := &scheduler{completer: c, log: log, most: servedPerFetch * fetches, held: make(map[*task]struct{})}
	s.timer = time.AfterFunc(time.Hour, s.look)
	s.beats = time.AfterFunc(time.Hour, s.beatAll)
	s.timer.Stop()
	s.beats.Stop()
	return s
}

// serve takes steps of a new batch. It returns false if the batch has not ended; then the scheduler
// continues it and completes the activity. Without a Completer the batch waits in its activity.
func (s *scheduler) serve(ctx context.Context, b *batch) bool {
	if s.completer == nil {
		for !b.run(ctx) {
			sleep(ctx, time.Until(b.until))
		}
		return true
	}
	if lane := b.lane(); s.enter(lane) {
		ended := b.run(ctx)
		s.leave(lane)
		if ended {
			return true
		}
	}
	s.hold(&task{batch: b, call: callOf(ctx, s.log), beat: time.Now()})
	return false
}

func (s *scheduler) enter(lane int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.room(lane) {
		return false
	}
	s.served[lane]++
	return true
}

// room reports whether another task of a lane may be served. The caller holds the lock.
func (s *scheduler) room(lane int) bool {
	return s.served[0]+s.served[1] < s.most && (lane == 0 || s.served[1] < request.SlowPart(s.most))
}

func (s *scheduler) leave(lane int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[lane]--
	s.advance()
}

func (s *scheduler) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
}

// advance serves the due tasks and sets the timer. The caller holds the lock.
func (s *scheduler) advance() {
	if s.closed && !s.handedOver {
		return
	}
	now := time.Now()
	for lane := s.first(now); lane >= 0; lane = s.first(now) {
		t := heap.Pop(&s.due[lane]).(*task) //nolint:forcetypeassert // nothing else is in it
		s.served[lane]++
		ctx, cancel := context.WithDeadline(t.context(), t.Deadline)
		if t.cancel = cancel; t.cancelled || s.handedOver {
			cancel()
		}
		go s.run(ctx, t, lane)
	}
	var next time.Time
	for _, waiting := range s.due {
		if len(waiting) > 0 && waiting[0].until.After(now) && (next.IsZero() || waiting[0].until.Before(next)) {
			next = waiting[0].until
		}
	}
	if !next.IsZero() {
		s.timer.Reset(next.Sub(now))
	}
}

// first returns the lane whose first task is served next, or -1. The caller holds the lock.
func (s *scheduler) first(now time.Time) int {
	first := -1
	for lane, waiting := range s.due {
		switch {
		case len(waiting) == 0 || !s.room(lane):
		case waiting[0].until.After(now) && !s.handedOver:
		case first < 0 || waiting[0].until.Before(s.due[first][0].until):
			first = lane
		}
	}
	return first
}

func (s *scheduler) run(ctx context.Context, t *task, lane int) {
	if ended := s.steps(ctx, t); ended {
		s.complete(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.cancel()
	t.cancel = nil
	s.served[lane]--
	if _, held := s.held[t]; held {
		heap.Push(&s.due[t.lane()], t)
	}
	s.advance()
}

// steps runs the batch. A panic becomes its error, as the SDK does for other activities.
func (s *scheduler) steps(ctx context.Context, t *task) (ended bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "an activity panicked", "domain", t.in.Domain, "error", p, "stack", string(debug.Stack()))
			ended, t.err = true, fmt.Errorf("panic: %v", p)
		}
	}()
	return t.run(ctx)
}

// complete reports the result to Temporal. If that fails, the activity's heartbeats end, and
// another attempt continues from its end.
func (s *scheduler) complete(t *task) {
	ctx, cancel := context.WithTimeout(t.context(), completeSpan)
	defer cancel()
	var err error
	if isRetried(t.err) {
		err = s.completer.RecordActivityHeartbeat(ctx, t.Token, t.res)
	}
	if err == nil {
		err = s.completer.CompleteActivity(ctx, t.Token, t.res, t.err)
	}
	if err != nil && !isGone(err) {
		s.log.WarnContext(ctx, "could not report a domain's batch; Temporal will retry it", "domain", t.in.Domain, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, t)
	s.ended.Done()
}

func isGone(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	return gone
}

func (s *scheduler) beatAll() {
	now := time.Now()
	s.mu.Lock()
	var due []*task
	for t := range s.held {
		if t.Every > 0 && now.Sub(t.beat) >= t.Every {
			due = append(due, t)
		}
	}
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(beatParallel)
	for _, t := range due {
		group.Go(func() error {
			s.heartbeat(t)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 {
		s.beats.Reset(beatLook)
	}
}

// heartbeat keeps an activity alive, and ends its batch if the activity is not wanted any more. The
// next check retries other failures.
func (s *scheduler) heartbeat(t *task) {
	ctx, cancel := context.WithTimeout(t.context(), beatSpan)
	defer cancel()
	now := time.Now()
	var details []any
	if t.earlier != nil {
		details = append(details, t.earlier)
	}
	err := s.completer.RecordActivityHeartbeat(ctx, t.Token, details...)
	unwanted := isGone(err) || temporal.IsCanceledError(err) || errors.Is(err, activity.ErrActivityPaused) ||
		errors.Is(err, activity.ErrActivityReset)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, held := s.held[t]; {
	case err == nil:
		t.beat = now
	case !held || !unwanted:
	default:
		if t.cancelled = true; t.cancel != nil {
			t.cancel()
			return
		}
		t.until = now
		heap.Init(&s.due[t.lane()])
		s.advance()
	}
}

func (s *scheduler) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// handOver ends all waiting tasks, so that other workers continue them, and waits for their end.
func (s *scheduler) handOver() {
	s.mu.Lock()
	s.closed, s.handedOver = true, true
	s.advance()
	s.mu.Unlock()
	s.ended.Wait()
}

// keep returns the waiting activities once no task takes steps, and reports nothing to Temporal.
// Call stop before.
func (s *scheduler) keep() []Kept {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		if s.served == [2]int{} {
			break
		}
		s.mu.Unlock()
		<-tick.C
	}
	defer s.mu.Unlock()
	var kept []Kept
	for t := range s.held {
		kept = append(kept, t.kept())
		delete(s.held, t)
		s.ended.Done()
	}
	s.due = [2]tasks{}
	return kept
}

func (s *scheduler) hold(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		s.beats.Reset(beatLook)
	}
	s.held[t] = struct{}{}
	s.ended.Add(1)
	heap.Push(&s.due[t.lane()], t)
	s.advance()
}

func (s *scheduler) stops() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (b *batch) lane() int {
	if request.IsSlow(b.facts.Domain.Health) {
		return 1
	}
	return 0
}

type tasks []*task

func (h *tasks) Len() int           { return len(*h) }
func (h *tasks) Less(i, j int) bool { return (*h)[i].until.Before((*h)[j].until) }
func (h *tasks) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *tasks) Push(x any)         { *h = append(*h, x.(*task)) } //nolint:forcetypeassert // only tasks are pushed
func (h *tasks) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
