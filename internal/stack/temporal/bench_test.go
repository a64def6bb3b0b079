//go:build stackbench

package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
)

const (
	benchQueue     = "bench"
	benchWorkflows = 200
	benchPollers   = 16
	// benchPause is short: what is measured is what the server can do, not how
	// long a domain waits.
	benchPause = 100 * time.Millisecond
)

// BenchmarkNoopPages measures what Temporal adds to a page: one activity and
// one timer, in many workflows at once. Server and worker share the process, as
// they do in "mosey crawl". Run it with
//
//	go test -tags stackbench -run '^$' -bench . -benchtime 6000x ./internal/stack/temporal
//
// and MOSEY_BENCH_PROFILE=FILE for a CPU profile of the measured part.
func BenchmarkNoopPages(b *testing.B) {
	c := benchServer(b)
	var pages atomic.Int64
	w := worker.New(c, benchQueue, worker.Options{
		// The default of two pollers is the bottleneck long before the server.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(
			worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: benchPollers}),
	})
	w.RegisterWorkflowWithOptions(benchWorkflow, workflow.RegisterOptions{Name: "bench"})
	w.RegisterActivity(&benchActivities{pages: &pages})
	require.NoError(b, w.Start())
	defer w.Stop()

	profile := os.Getenv("MOSEY_BENCH_PROFILE")
	if profile != "" {
		file, err := os.Create(profile)
		require.NoError(b, err)
		defer func() { require.NoError(b, file.Close()) }()
		require.NoError(b, pprof.StartCPUProfile(file))
		defer pprof.StopCPUProfile()
	}
	began, cpu := time.Now(), cpuTime(b)
	b.ResetTimer()
	runBench(b, c, benchWorkflows)
	b.StopTimer()
	done := float64(pages.Load())
	b.ReportMetric(done/time.Since(began).Seconds(), "pages/s")
	b.ReportMetric((cpuTime(b)-cpu).Seconds()*1000/done, "cpu-ms/page")
	b.ReportMetric(float64(runtime.NumCPU()), "cpus")
}

// The search attributes that a domain's workflow has.
var (
	benchDomain = sdk.NewSearchAttributeKeyKeyword("BenchDomain")
	benchStatus = sdk.NewSearchAttributeKeyKeyword("BenchStatus")
	benchRun    = sdk.NewSearchAttributeKeyKeywordList("BenchRun")
)

// benchServer starts a server and returns a client of it.
func benchServer(b *testing.B) client.Client {
	b.Helper()
	server, err := Start(b.Context(), Config{
		Dir: b.TempDir(), NoUI: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr,
			&slog.HandlerOptions{Level: slog.LevelError})),
		SearchAttributes: map[string]enumspb.IndexedValueType{
			benchDomain.GetName(): benchDomain.GetValueType(), benchStatus.GetName(): benchStatus.GetValueType(),
			benchRun.GetName(): benchRun.GetValueType(),
		},
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Stop()) })
	c, err := client.Dial(client.Options{
		HostPort: server.Address(),
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		// Over the loopback address, compressing only costs.
		ConnectionOptions: client.ConnectionOptions{
			GrpcCompression: &client.GrpcCompressionNone{},
			DialOptions:     []grpc.DialOption{server.DialOption()},
		},
	})
	require.NoError(b, err)
	b.Cleanup(c.Close)
	return c
}

// runBench runs workflows that fetch b.N pages, at least two each.
func runBench(b *testing.B, c client.Client, workflows int) {
	b.Helper()
	runs := make([]client.WorkflowRun, workflows)
	for i := range runs {
		var err error
		runs[i], err = c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{
			ID: fmt.Sprintf("bench/%d/%d", b.N, i), TaskQueue: benchQueue,
		}, "bench", max(2, b.N/workflows))
		require.NoError(b, err)
	}
	for _, run := range runs {
		require.NoError(b, run.Get(b.Context(), nil))
	}
}

// BenchmarkStarts measures what it costs Temporal that a workflow starts and ends:
// what is listed of it is written at both.
func BenchmarkStarts(b *testing.B) {
	c := benchServer(b)
	w := worker.New(c, benchQueue, worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(
			worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: benchPollers}),
	})
	w.RegisterWorkflowWithOptions(func(workflow.Context, int) error { return nil }, workflow.RegisterOptions{Name: "bench"})
	require.NoError(b, w.Start())
	defer w.Stop()
	for _, eager := range []bool{false, true} {
		b.Run(fmt.Sprintf("eager=%t", eager), func(b *testing.B) {
			began, cpu := time.Now(), cpuTime(b)
			for i := 0; i < b.N; i += benchWorkflows {
				startBatch(b, c, fmt.Sprintf("start/%t/%d/%d", eager, b.N, i), eager)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "workflows/s")
			b.ReportMetric((cpuTime(b)-cpu).Seconds()*1000/float64(b.N), "cpu-ms/workflow")
		})
	}
}

// startBatch starts workflows and waits for their end: by the call that hands the first
// task over at once, or with a signal.
func startBatch(b *testing.B, c client.Client, name string, eager bool) {
	b.Helper()
	runs := make([]client.WorkflowRun, benchWorkflows)
	for j := range runs {
		opts := client.StartWorkflowOptions{
			ID: fmt.Sprintf("%s/%d", name, j), TaskQueue: benchQueue, EnableEagerStart: eager,
			TypedSearchAttributes: sdk.NewSearchAttributes(
				benchDomain.ValueSet("example.org"), benchRun.ValueSet([]string{"small-web"}), benchStatus.ValueSet("crawling")),
		}
		var err error
		if eager {
			runs[j], err = c.ExecuteWorkflow(b.Context(), opts, "bench", 1)
		} else {
			runs[j], err = c.SignalWithStartWorkflow(b.Context(), opts.ID, "wake", 1, opts, "bench", 1)
		}
		require.NoError(b, err)
	}
	for _, run := range runs {
		require.NoError(b, run.Get(b.Context(), nil))
	}
}

// BenchmarkLateness measures how much later than its pause says the next page of a workflow
// begins, of 50 workflows that pause for a second. Run it with -benchtime 1000x.
func BenchmarkLateness(b *testing.B) {
	const workflows, pause = 50, time.Second
	c := benchServer(b)
	w := worker.New(c, benchQueue, worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(
			worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: benchPollers}),
	})
	var (
		mu   sync.Mutex
		late []time.Duration
	)
	w.RegisterActivityWithOptions(func(_ context.Context, due time.Time) (time.Time, error) {
		now := time.Now()
		if !due.IsZero() {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, now.Sub(due))
		}
		return now.Add(pause), nil
	}, activity.RegisterOptions{Name: "Fetch"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, pages int) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		var due time.Time
		for range pages {
			if err := workflow.ExecuteActivity(ctx, "Fetch", due).Get(ctx, &due); err != nil {
				return err
			}
			if err := workflow.Sleep(ctx, pause); err != nil {
				return err
			}
		}
		return nil
	}, workflow.RegisterOptions{Name: "bench"})
	require.NoError(b, w.Start())
	defer w.Stop()
	runBench(b, c, workflows)
	b.StopTimer()
	slices.Sort(late)
	b.ReportMetric(late[len(late)/2].Seconds()*1000, "late-p50-ms")
	b.ReportMetric(late[len(late)*99/100].Seconds()*1000, "late-p99-ms")
	b.ReportMetric(late[len(late)-1].Seconds()*1000, "late-most-ms")
}

type benchActivities struct{ pages *atomic.Int64 }

func (a *benchActivities) Fetch(context.Context, string) (string, error) {
	a.pages.Add(1)
	return "next: https://www.example.org/a/path", nil
}

func benchWorkflow(ctx workflow.Context, pages int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		Summary:             "https://www.example.org/a/path",
	})
	for range pages {
		var next string
		if err := workflow.ExecuteActivity(ctx, "Fetch", "domain").Get(ctx, &next); err != nil {
			return err
		}
		if err := workflow.Sleep(ctx, benchPause); err != nil {
			return err
		}
	}
	return nil
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
