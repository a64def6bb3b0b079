package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery is well below the heartbeat time-out in workflows/options.go.
const heartbeatEvery = 15 * time.Second

// heartbeat sends heartbeats until stop is called, with the details of the attempts before. Most activities
// end before the first.
func heartbeat(ctx context.Context) (stop func()) {
	beating, stop := context.WithCancel(ctx)
	var details []any
	if activity.HasHeartbeatDetails(ctx) {
		var earlier any
		if err := activity.GetHeartbeatDetails(ctx, &earlier); err == nil {
			details = append(details, earlier)
		}
	}
	go func() {
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx, details...)
			}
		}
	}()
	return stop
}

// stopping reports whether this worker is shutting down.
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

// sleep waits, or returns false if the worker stops or the activity is cancelled.
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

// untilStop is a context that ends when the worker stops, too, for what need not be finished.
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
