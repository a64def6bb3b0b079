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
	// batchesPerFetch is the number of concurrently served batches per concurrent request, so that as
	// many batches read and record as request.
	batchesPerFetch = 2
	// maxParallelHeartbeats caps concurrent heartbeats. On a busy machine one takes half a second, and
	// the heartbeats of 10,000 domains must not take longer than half of their time-out.
	maxParallelHeartbeats = 128
	// heartbeatCheckInterval is the interval of checks for due heartbeats. A heartbeat is due after
	// 1/heartbeatsPerTimeout of the activity's time-out. heartbeatTimeout limits one heartbeat.
	heartbeatCheckInterval = 5 * time.Second
	heartbeatsPerTimeout   = 2
	heartbeatTimeout       = 30 * time.Second
	// completeTimeout limits an attempt to report a result to Temporal.
	completeTimeout = time.Minute
)

// scheduler serves batches of pages with a bounded number of goroutines. A batch that waits, for
// its domain's slot or for its turn here, has handed its activity over and is a value in a heap. It
// is safe for concurrent use.
type scheduler struct {
	completer Completer
	log       *slog.Logger
	limit     int

	mu sync.Mutex
	// openTasks contains the activities that were handed over.
	openTasks map[*task]struct{}
	// waiting contains the waiting tasks of fast sites and of slow sites, each in order.
	waiting        [2]tasks
	runningCount   [2]int
	waitTimer      *time.Timer
	heartbeatTimer *time.Timer
	// closed is set once no more steps are taken, handingOver once all waiting tasks must end.
	closed, handingOver bool
}

// task is an activity that was handed over.
type task struct {
	*batch

	activityCall
	// lastHeartbeat is the time of the last heartbeat.
	lastHeartbeat time.Time
	// cancelled is set when nobody wants the result; cancel is set while the task takes steps.
	cancelled bool
	cancel    context.CancelFunc
}

func newScheduler(c Completer, maxFetches int, log *slog.Logger) *scheduler {
	s := &scheduler{completer: c, log: log, limit: batchesPerFetch * maxFetches, openTasks: make(map[*task]struct{})}
	s.waitTimer = time.AfterFunc(time.Hour, s.onWaitTimer)
	s.heartbeatTimer = time.AfterFunc(time.Hour, s.sendHeartbeats)
	s.waitTimer.Stop()
	s.heartbeatTimer.Stop()
	return s
}

// serve takes steps of a new batch. It returns false if the batch has not ended; then the scheduler
// continues it and completes the activity. Without a Completer the batch waits in its activity.
func (s *scheduler) serve(ctx context.Context, b *batch) bool {
	if s.completer == nil {
		for !b.run(ctx) {
			sleep(ctx, time.Until(b.waitEnd))
		}
		return true
	}
	if lane := b.lane(); s.acquire(lane) {
		ended := b.run(ctx)
		s.release(lane)
		if ended {
			return true
		}
	}
	s.addTask(&task{batch: b, activityCall: newCall(ctx, s.log), lastHeartbeat: time.Now()})
	return false
}

func (s *scheduler) acquire(lane int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasCapacity(lane) {
		return false
	}
	s.runningCount[lane]++
	return true
}

// hasCapacity reports whether another task of a lane may be served. The caller holds the lock.
func (s *scheduler) hasCapacity(lane int) bool {
	return s.runningCount[0]+s.runningCount[1] < s.limit && (lane == 0 || s.runningCount[1] < request.SlowLimit(s.limit))
}

func (s *scheduler) release(lane int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runningCount[lane]--
	s.advance()
}

func (s *scheduler) onWaitTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
}

// advance serves the due tasks and sets the timer. The caller holds the lock.
func (s *scheduler) advance() {
	if s.closed && !s.handingOver {
		return
	}
	now := time.Now()
	for lane := s.nextLane(now); lane >= 0; lane = s.nextLane(now) {
		t := heap.Pop(&s.waiting[lane]).(*task) //nolint:forcetypeassert // nothing else is in it
		s.runningCount[lane]++
		ctx, cancel := context.WithDeadline(t.context(), t.Deadline)
		if t.cancel = cancel; t.cancelled || s.handingOver {
			cancel()
		}
		go s.run(ctx, t, lane)
	}
	var next time.Time
	for _, waiting := range s.waiting {
		if len(waiting) > 0 && waiting[0].waitEnd.After(now) && (next.IsZero() || waiting[0].waitEnd.Before(next)) {
			next = waiting[0].waitEnd
		}
	}
	if !next.IsZero() {
		s.waitTimer.Reset(next.Sub(now))
	}
}

// nextLane returns the lane whose first task is served next, or -1. The caller holds the lock.
func (s *scheduler) nextLane(now time.Time) int {
	next := -1
	for lane, waiting := range s.waiting {
		switch {
		case len(waiting) == 0 || !s.hasCapacity(lane):
		case waiting[0].waitEnd.After(now) && !s.handingOver:
		case next < 0 || waiting[0].waitEnd.Before(s.waiting[next][0].waitEnd):
			next = lane
		}
	}
	return next
}

func (s *scheduler) run(ctx context.Context, t *task, lane int) {
	if ended := s.runBatch(ctx, t); ended {
		s.complete(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.cancel()
	t.cancel = nil
	s.runningCount[lane]--
	if _, isOpen := s.openTasks[t]; isOpen {
		heap.Push(&s.waiting[t.lane()], t)
	}
	s.advance()
}

// runBatch runs the batch. A panic becomes its error, as the SDK does for other activities.
func (s *scheduler) runBatch(ctx context.Context, t *task) (ended bool) {
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
	ctx, cancel := context.WithTimeout(t.context(), completeTimeout)
	defer cancel()
	var err error
	if isSiteFailureRetry(t.err) {
		err = s.completer.RecordActivityHeartbeat(ctx, t.Token, t.res)
	}
	if err == nil {
		err = s.completer.CompleteActivity(ctx, t.Token, t.res, t.err)
	}
	if err != nil && !isNotFound(err) {
		s.log.WarnContext(ctx, "could not report a domain's batch; Temporal will retry it", "domain", t.in.Domain, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.openTasks, t)
}

func isNotFound(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	return gone
}

func (s *scheduler) sendHeartbeats() {
	now := time.Now()
	s.mu.Lock()
	var due []*task
	for t := range s.openTasks {
		if t.HeartbeatInterval > 0 && now.Sub(t.lastHeartbeat) >= t.HeartbeatInterval {
			due = append(due, t)
		}
	}
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(maxParallelHeartbeats)
	for _, t := range due {
		group.Go(func() error {
			s.heartbeat(t)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.openTasks) > 0 {
		s.heartbeatTimer.Reset(heartbeatCheckInterval)
	}
}

// heartbeat keeps an activity alive, and ends its batch if the activity is not wanted any more. The
// next check retries other failures.
func (s *scheduler) heartbeat(t *task) {
	ctx, cancel := context.WithTimeout(t.context(), heartbeatTimeout)
	defer cancel()
	now := time.Now()
	var details []any
	if t.previousResult != nil {
		details = append(details, t.previousResult)
	}
	err := s.completer.RecordActivityHeartbeat(ctx, t.Token, details...)
	unwanted := isNotFound(err) || temporal.IsCanceledError(err) || errors.Is(err, activity.ErrActivityPaused) ||
		errors.Is(err, activity.ErrActivityReset)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, isOpen := s.openTasks[t]; {
	case err == nil:
		t.lastHeartbeat = now
	case !isOpen || !unwanted:
	default:
		if t.cancelled = true; t.cancel != nil {
			t.cancel()
			return
		}
		t.waitEnd = now
		heap.Init(&s.waiting[t.lane()])
		s.advance()
	}
}

func (s *scheduler) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// handOver ends all waiting tasks, so that other workers continue them, and waits for their end.
// Tasks that are added later end as well.
func (s *scheduler) handOver() {
	s.mu.Lock()
	s.closed, s.handingOver = true, true
	s.advance()
	s.mu.Unlock()
	s.waitUntil(func() bool { return len(s.openTasks) == 0 })
	s.mu.Unlock()
}

// suspend returns the waiting activities once no task takes steps, and reports nothing to Temporal.
// Call stop before.
func (s *scheduler) suspend() []SuspendedActivity {
	s.waitUntil(func() bool { return s.runningCount == [2]int{} })
	defer s.mu.Unlock()
	var suspended []SuspendedActivity
	for t := range s.openTasks {
		suspended = append(suspended, t.suspended())
		delete(s.openTasks, t)
	}
	s.waiting = [2]tasks{}
	return suspended
}

// waitUntil returns, with the lock, once a condition holds.
func (s *scheduler) waitUntil(holds func() bool) {
	for s.mu.Lock(); !holds(); s.mu.Lock() {
		s.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *scheduler) addTask(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.openTasks) == 0 {
		s.heartbeatTimer.Reset(heartbeatCheckInterval)
	}
	s.openTasks[t] = struct{}{}
	heap.Push(&s.waiting[t.lane()], t)
	s.advance()
}

func (s *scheduler) isStopping() bool {
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
func (h *tasks) Less(i, j int) bool { return (*h)[i].waitEnd.Before((*h)[j].waitEnd) }
func (h *tasks) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *tasks) Push(x any)         { *h = append(*h, x.(*task)) } //nolint:forcetypeassert // only tasks are pushed
func (h *tasks) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
