package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatInterval is well below the heartbeat time-out in workflows/options.go.
const heartbeatInterval = 15 * time.Second

// heartbeat sends heartbeats until stop is called, with the details of the previous attempts. Most
// activities end before the first heartbeat.
func heartbeat(ctx context.Context) (stop func()) {
	heartbeatCtx, stop := context.WithCancel(ctx)
	var details []any
	if activity.HasHeartbeatDetails(ctx) {
		var previous any
		if err := activity.GetHeartbeatDetails(ctx, &previous); err == nil {
			details = append(details, previous)
		}
	}
	go func() {
		tick := time.NewTicker(heartbeatInterval)
		defer tick.Stop()
		for {
			select {
			case <-heartbeatCtx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx, details...)
			}
		}
	}()
	return stop
}

func stopping(ctx context.Context) bool {
	select {
	case <-stopChannel(ctx):
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// sleep waits. It returns false if the worker stops or the activity is cancelled.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-stopChannel(ctx):
		}
	}
	return !stopping(ctx)
}

// untilStop returns a context that also ends when the worker stops, for work that may be cut off.
func untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stopChannel(ctx):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
