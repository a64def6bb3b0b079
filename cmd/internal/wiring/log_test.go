package wiring

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
)

func TestUntilStopped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := log.With(log.NewStructuredLogger(slog.New(untilStopped{slog.NewTextHandler(&out, nil)}).WithGroup("sdk")),
		"Namespace", "default")
	logger.Warn("Failed to poll for task.", "Error", errors.New("worker stopping"))
	require.Empty(t, out.String(), "that is what stopping is")
	logger.Warn("Failed to poll for task.", "Error", errors.New("no route to host"))
	require.Contains(t, out.String(), "sdk.Namespace=default sdk.Error=\"no route to host\"")
}
