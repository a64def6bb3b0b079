package wiring

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
)

var withoutTime = regexp.MustCompile(`time=\S+ |"time":"[^"]*",`)

func TestLogFlags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags LogFlags
		json  bool
		want  string
	}{
		"defaults of people":  {want: "level=WARN msg=warned a=1\n"},
		"defaults of workers": {json: true, want: `{"level":"WARN","msg":"warned","a":1}` + "\n"},
		"a level":             {flags: LogFlags{LogLevel: "debug"}, want: "level=DEBUG msg=debugged\nlevel=WARN msg=warned a=1\n"},
		"a higher level":      {flags: LogFlags{LogLevel: "error"}, want: ""},
		"JSON":                {flags: LogFlags{LogFormat: "json"}, want: `{"level":"WARN","msg":"warned","a":1}` + "\n"},
		"text":                {flags: LogFlags{LogFormat: "text"}, json: true, want: "level=WARN msg=warned a=1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			logger := c.flags.Logger(&out, slog.LevelWarn, c.json)
			logger.DebugContext(t.Context(), "debugged")
			logger.WarnContext(t.Context(), "warned", "a", 1)
			require.Equal(t, c.want, withoutTime.ReplaceAllString(out.String(), ""))
		})
	}
}

// TestLinesOfActivities checks that an activity's log lines and the SDK's lines about it use the
// same keys.
func TestLinesOfActivities(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := LogFlags{LogLevel: "debug", LogFormat: "json"}.Logger(&out, slog.LevelWarn, false)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(sdkHandler{logger.Handler()})))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		logger.DebugContext(ctx, "ours", "domain", "a.example")
		activity.GetLogger(ctx).Warn("the SDK's")
		activity.GetLogger(ctx).Debug("a step")
		return nil
	}, activity.RegisterOptions{Name: "Test"})
	_, err := env.ExecuteActivity("Test")
	require.NoError(t, err)
	var lines []map[string]any
	for d := json.NewDecoder(&out); d.More(); {
		var line map[string]any
		require.NoError(t, d.Decode(&line))
		delete(line, "time")
		lines = append(lines, line)
	}
	require.Len(t, lines, 2, "steps of the SDK are none of ours")
	require.Equal(t, map[string]any{"level": "DEBUG", "msg": "ours", "domain": "a.example", "workflow": "default-test-workflow-id"}, lines[0])
	require.Equal(t, "default-test-workflow-id", lines[1]["workflow"])
	require.Equal(t, "Test", lines[1]["activity"])
	require.NotContains(t, lines[1], "WorkflowID")

	require.Equal(t, "[workflow=domain/a.example domain=a.example]", slog.GroupValue(subject("domain/a.example")...).String())
	require.Equal(t, "[workflow=seed/a/b/1 run=a/b]", slog.GroupValue(subject("seed/a/b/1")...).String())
	require.Equal(t, "[workflow=mosey/database]", slog.GroupValue(subject("mosey/database")...).String())
}
