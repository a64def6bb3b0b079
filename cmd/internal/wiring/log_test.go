package wiring

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"
)

func TestOfSDK(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := log.With(log.NewStructuredLogger(slog.New(sdkHandler{slog.NewTextHandler(&out, nil)}).WithGroup("sdk")),
		"Namespace", "default")
	logger.Warn("Failed to poll for task.", "Error", errors.New("worker stopping"))
	const heartbeat = "RecordActivityHeartbeat with error"
	logger.Warn(heartbeat, "Error", context.Canceled)
	logger.Warn(heartbeat, "ActivityType", "FetchPages", "Error", serviceerror.NewCanceled("context canceled"))
	require.Empty(t, out.String(), "that is what stopping is")
	logger.Warn(heartbeat, "Error", context.DeadlineExceeded)
	require.Contains(t, out.String(), "sdk.error=\"context deadline exceeded\"")
	logger.Warn("Failed to store the result.", "Error", context.Canceled)
	require.Contains(t, out.String(), "Failed to store the result.")
	logger.Warn("Failed to poll for task.", "Error", errors.New("no route to host"))
	require.Contains(t, out.String(), "sdk.error=\"no route to host\"")
	require.NotContains(t, out.String(), "amespace", "which is the same for all lines")
}
