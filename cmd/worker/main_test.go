package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/sdk/converter"
	"go.uber.org/goleak"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// patience bounds every wait for what happens much sooner.
const patience = time.Minute

func TestMain(m *testing.M) {
	code := dbtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

// execute runs the worker until it ends by itself.
func execute(t *testing.T, env wiring.Env, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs output.Buffer
	code = run(ctx, args, env, &out, &errs)
	require.NoError(t, ctx.Err(), "still running: %s", &errs)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()

	t.Run("HelpNamesFlagsAndVariables", func(t *testing.T) {
		t.Parallel()
		code, out, errs := execute(t, nil, "--help")
		require.Zero(t, code)
		require.Empty(t, errs)
		out = strings.Join(strings.Fields(out), " ")
		require.Contains(t, out, "Usage: worker [flags]")
		require.Contains(t, out, "Postgres to use. Run mosey migrate first ($DATABASE_URL).")
		require.Contains(t, out, "Maximum number of requests in flight of this process; mosey workers limits the fleet. Default: 256 ($MOSEY_MAX_FETCHES).")
	})

	t.Run("TellsItsVersions", func(t *testing.T) {
		t.Parallel()
		code, out, errs := execute(t, nil, "--version")
		require.Zero(t, code, errs)
		require.Regexp(t, `\Aworker \d+\.\d+\.\d+\S*\n`, out)
		all, err := wiring.NewVersions()
		require.NoError(t, err)
		require.Equal(t, all.Text("worker")+"\n", out)
	})

	t.Run("AMistakeIsOneLineThatNamesTheInput", func(t *testing.T) {
		t.Parallel()
		const none = "postgres://127.0.0.1:1/none"
		for _, c := range []struct {
			env  wiring.Env
			args []string
			want string
		}{
			{nil, nil, "worker: no database: give DATABASE_URL or --database-url, such as postgres://mosey@localhost:5432/mosey\n"},
			{wiring.Env{"DATABASE_URL="}, nil, "worker: no database: "},
			{nil, []string{"--database-url", "http//nowhere"}, "worker: database URL: "},
			{nil, []string{"--speed", "9"}, "worker: unknown flag --speed"},
			{nil, []string{"crawl"}, "worker: unexpected argument crawl"},
			{nil, []string{"--timeout", "10"}, `worker: --timeout: "10" is not a duration: want a number and a unit`},
			{nil, []string{"--timeout", "1ms"}, "--timeout 1ms: want 1s to 10m"},
			{nil, []string{"--max-fetches", "0"}, "--max-fetches 0: want 1 to 100000"},
			{nil, []string{"--dns-server", "1.1.1.1"}, "--dns-server: "},
			{nil, []string{"--user-agent", "123"}, `--user-agent: invalid input: user agent "123": must begin with a product token`},
			{nil, []string{"--role", "cook"}, `--role must be one of "all","fetch","control" but got "cook"`},
			{nil, []string{"--build-id", "a b"}, `--build-id "a b": want up to 100 letters, digits and . - _ +`},
			{nil, []string{"--deployment", "a.b"}, `--deployment "a.b": want up to 100 letters, digits and - _ +`},
			{nil, []string{"--malformed-robots", "ignore"}, `--malformed-robots must be one of "disallow","allow" but got "ignore"`},
			{nil, []string{"--database-url", none, "--cpu-profile", "/nowhere/cpu"}, "worker: --cpu-profile: open /nowhere/cpu: no such file or directory"},
			{wiring.Env{"OTEL_TRACES_EXPORTER=zipkin"}, []string{"--database-url", none}, `worker: OTEL_TRACES_EXPORTER "zipkin": want otlp or none`},
			{wiring.Env{"MOSEY_MAX_FETCHES=many"}, nil, "worker: --max-fetches: MOSEY_MAX_FETCHES: "},
		} {
			code, out, errs := execute(t, c.env, c.args...)
			require.Equal(t, wiring.ExitUsage, code, errs)
			require.Empty(t, out)
			require.Contains(t, errs, c.want)
			require.True(t, strings.HasPrefix(errs, "worker: "), errs)
		}
	})
}

func TestDatabase(t *testing.T) {
	t.Parallel()

	t.Run("ThatDoesNotAnswerIsNamedInOneLine", func(t *testing.T) {
		t.Parallel()
		code, _, errs := execute(t, wiring.Env{"DATABASE_URL=postgres://mosey:secret@127.0.0.1:1/mosey"})
		require.Equal(t, wiring.ExitFailed, code)
		require.Contains(t, errs, "worker: reach the database: ")
		require.Contains(t, errs, "check that Postgres runs at DATABASE_URL; mosey doctor ")
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.NotContains(t, errs, "secret")
	})

	t.Run("ThatWasNotMigratedIsRefused", func(t *testing.T) {
		t.Parallel()
		code, _, errs := execute(t, nil, "--database-url", dbtest.UnmigratedURL(t))
		require.Equal(t, wiring.ExitFailed, code)
		require.Contains(t, errs, "the database has schema version 0, but this program needs ")
		require.Contains(t, errs, ": run mosey migrate\n")
	})

	t.Run("ThatIsTooNewIsRefused", func(t *testing.T) {
		t.Parallel()
		store := dbtest.New(t)
		_, err := store.Pool().Exec(t.Context(), "UPDATE installation SET min_schema_version = 1000")
		require.NoError(t, err)
		code, _, errs := execute(t, nil, "--database-url", store.Pool().Config().ConnString())
		require.Equal(t, wiring.ExitFailed, code)
		require.Contains(t, errs, "which needs a program of version 1000 or later, not ")
		require.Contains(t, errs, ": use a newer Mosey\n")
	})
}

func TestTemporal(t *testing.T) {
	t.Parallel()

	t.Run("ThatDoesNotAnswerIsNamed", func(t *testing.T) {
		t.Parallel()
		code, _, errs := execute(t, wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_ADDRESS=127.0.0.1:1"})
		require.Equal(t, wiring.ExitFailed, code)
		require.Contains(t, errs, "worker: reach Temporal at 127.0.0.1:1: ")
		require.Contains(t, errs, ": check that Temporal runs at TEMPORAL_ADDRESS; mosey doctor ")
	})

	t.Run("WhoseSettingsCannotBeReadIsRefused", func(t *testing.T) {
		t.Parallel()
		code, _, errs := execute(t, wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_PROFILE=nowhere"})
		require.Equal(t, wiring.ExitUsage, code)
		require.Contains(t, errs, "worker: read the TEMPORAL_* settings: ")
	})
}

func TestNoContact(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr output.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, nil, wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_ADDRESS=" + newFakeTemporal(t).address},
			&stdout, &stderr)
	}()
	wait.Until(t, func() bool {
		return strings.Contains(stderr.String(), `"level":"WARN","msg":"no contact is given, so site owners cannot reach you: `)
	}, patience, 5*time.Millisecond)
	cancel()
	require.Zero(t, <-ended, "%s", &stderr)
}

func TestWork(t *testing.T) {
	t.Parallel()
	temporal := newFakeTemporal(t)
	profile := filepath.Join(t.TempDir(), "cpu")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr output.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--cpu-profile", profile, "--contact", "test@example.org"},
			wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_ADDRESS=" + temporal.address, "TEMPORAL_NAMESPACE=mine"},
			&stdout, &stderr)
	}()

	wait.Until(t, func() bool {
		return temporal.polled(crawl.TaskQueue, "workflow") && temporal.polled(crawl.TaskQueue, "activity") &&
			temporal.polled(crawl.ControlTaskQueue, "activity")
	}, patience, 5*time.Millisecond, "%s", &stderr)
	require.False(t, temporal.polled(crawl.ControlTaskQueue, "workflow"))
	require.Equal(t, "mine", temporal.namespace())
	require.Regexp(t, `^mosey/\S+ \d+@\S+$`, temporal.identity())

	cancel()
	select {
	case code := <-ended:
		require.Zero(t, code, "%s", &stderr)
	case <-time.After(patience):
		require.FailNow(t, "still running", "%s", &stderr)
	}
	require.Empty(t, stdout.String())
	var messages []string
	for line := range strings.Lines(stderr.String()) {
		var record struct {
			Message   string `json:"msg"`
			Level     string `json:"level"`
			UserAgent string `json:"user_agent"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record), line)
		require.Equal(t, "INFO", record.Level, line)
		messages = append(messages, record.Message)
		if record.Message == "worker started" {
			require.Regexp(t, `^mosey/\S+ \(\+test@example\.org\)$`, record.UserAgent)
		}
	}
	require.Contains(t, messages, "worker started")
	require.Contains(t, messages, "worker stopping after the requests in flight")
	stat, err := os.Stat(profile)
	require.NoError(t, err)
	require.NotZero(t, stat.Size())
}

// A migration may take away what this program needs while it runs.
func TestDatabaseThatLeavesTheWorkerBehindEndsIt(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	temporal := newFakeTemporal(t)
	var stdout, stderr output.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), nil, wiring.Env{
			"DATABASE_URL=" + store.Pool().Config().ConnString(), "TEMPORAL_ADDRESS=" + temporal.address,
		}, &stdout, &stderr)
	}()
	wait.Until(t, func() bool { return strings.Contains(stderr.String(), "worker started") }, patience, 5*time.Millisecond)
	_, err := store.Pool().Exec(t.Context(), "UPDATE installation SET min_schema_version = 1000")
	require.NoError(t, err)
	select {
	case code := <-ended:
		require.Equal(t, wiring.ExitFailed, code, "%s", &stderr)
	case <-time.After(patience):
		require.FailNow(t, "still running", "%s", &stderr)
	}
	require.Contains(t, stderr.String(), "this worker is too old for the database and stops taking work")
	require.Regexp(t, `(?m)^worker: the database has schema version .* which needs a program of version 1000 or later, .*: use a newer Mosey$`, stderr.String())
}

func TestVersionOfTheWorkerIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		current *deploymentpb.WorkerDeploymentVersion
		args    []string
		want    string
	}{
		{nil, []string{"--build-id", "v2"}, "this worker gets no new work until its version is current: run mosey deploy"},
		{&deploymentpb.WorkerDeploymentVersion{DeploymentName: "mosey", BuildId: "v1"}, []string{"--build-id", "v2"}, `"current":"mosey:v1"`},
		{&deploymentpb.WorkerDeploymentVersion{DeploymentName: "mosey", BuildId: "v1"}, nil, "this worker has no version and gets no work"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		temporal := newFakeTemporal(t)
		temporal.current = c.current
		var stdout, stderr output.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, c.args, wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_ADDRESS=" + temporal.address}, &stdout, &stderr)
		}()
		wait.Until(t, func() bool { return strings.Contains(stderr.String(), c.want) }, patience, 5*time.Millisecond, "%s", &stderr)
		cancel()
		require.Zero(t, <-ended, "%s", &stderr)
	}
}

func TestRoleIsWhatAWorkerServes(t *testing.T) {
	t.Parallel()
	for role, serves := range map[string][3]bool{ // workflows, requests, control
		"all": {true, true, true}, "fetch": {true, true, false}, "control": {false, false, true},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			temporal := newFakeTemporal(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var stdout, stderr output.Buffer
			ended := make(chan int, 1)
			go func() {
				ended <- run(ctx, []string{"--role", role},
					wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_ADDRESS=" + temporal.address}, &stdout, &stderr)
			}()
			polls := func() [3]bool {
				return [3]bool{
					temporal.polled(crawl.TaskQueue, "workflow"), temporal.polled(crawl.TaskQueue, "activity"),
					temporal.polled(crawl.ControlTaskQueue, "activity"),
				}
			}
			wait.Until(t, func() bool { return polls() == serves }, patience, 5*time.Millisecond, "%s", &stderr)
			wait.Until(t, func() bool { return strings.Contains(stderr.String(), "worker started") }, patience, 5*time.Millisecond)
			cancel()
			require.Zero(t, <-ended, "%s", &stderr)
			require.Equal(t, serves, polls())
		})
	}
}

// A worker of another database would take tasks that it knows nothing of.
func TestNamespaceOfAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	const other = "11111111-2222-3333-4444-555555555555"
	temporal := newFakeTemporal(t)
	memo, err := converter.GetDefaultDataConverter().ToPayload(other)
	require.NoError(t, err)
	temporal.owner = &commonpb.Memo{Fields: map[string]*commonpb.Payload{"database": memo}}
	var stdout, stderr output.Buffer
	code := run(t.Context(), nil,
		wiring.Env{"DATABASE_URL=" + dbtest.URL(t), "TEMPORAL_ADDRESS=" + temporal.address, "TEMPORAL_NAMESPACE=shared"},
		&stdout, &stderr)
	require.Equal(t, wiring.ExitFailed, code, "%s", &stderr)
	require.Regexp(t, `(?m)^worker: the Temporal namespace "shared" belongs to the database `+other+
		`, and not to the given database [0-9a-f-]{36}: .*TEMPORAL_NAMESPACE=….*`+
		`temporal workflow terminate --namespace shared --workflow-id mosey/database$`, stderr.String())
	require.False(t, temporal.polled(crawl.TaskQueue, "workflow") || temporal.polled(crawl.ControlTaskQueue, "activity"))
}
