package wiring

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUntilStopped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(untilStopped{slog.NewTextHandler(&out, nil)}).With("Namespace", "default").WithGroup("g")
	logger.Warn("Failed to poll for task.", "Error", errors.New("worker stopping"))
	require.Empty(t, out.String(), "that is what stopping is")
	logger.Warn("Failed to poll for task.", "Error", errors.New("no route to host"))
	require.Contains(t, out.String(), "Namespace=default g.Error=\"no route to host\"")
}
