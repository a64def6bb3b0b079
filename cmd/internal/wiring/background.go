package wiring

import (
	"context"
	"sync"
)

// background runs functions until stop is called, which waits for them.
func background(runs ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range runs {
		running.Go(func() { run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}
