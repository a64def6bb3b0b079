package wiring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestFailOfAFullDisk(t *testing.T) {
	t.Parallel()
	for text, what := range map[string]string{
		"create the database in /d: initdb: exit status 1: selecting … ok\ninitdb: error: could not write file \"/d/x\": No space left on device\ninitdb: removing": "could not write file \"/d/x\": No space left on device",
		fmt.Errorf("write /d/stack.json: %w", syscall.ENOSPC).Error():                                                     "write /d/stack.json: no space left on device",
		"prepare /d/temporal.db: database or disk is full (13)":                                                           "prepare /d/temporal.db: database or disk is full",
		(&pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "could not extend file \"base/1\": wrote 1"}).Error(): "could not extend file \"base/1\": wrote 1 (SQLSTATE 53100)",
	} {
		var out bytes.Buffer
		require.Equal(t, ExitFailed, Fail(&out, "mosey", errors.New(text)))
		require.Equal(t, "mosey: the disk is full: free some space and give the command again; stored data is kept ("+what+")\n", out.String())
		said := strings.TrimSuffix(strings.TrimPrefix(out.String(), "mosey: "), "\n")
		out.Reset()
		require.Equal(t, ExitFailed, FailJSON(&out, errors.New(text)))
		var failed struct{ Error string }
		require.NoError(t, json.Unmarshal(out.Bytes(), &failed))
		require.Equal(t, said, failed.Error, "as JSON it is the same")
	}
}

func TestLogOfAFullDisk(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := newLogger(slog.NewTextHandler(&out, nil))
	full := &pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "could not extend file"}
	logger.Warn("RecordActivityHeartbeat with error", fromSDK("context deadline exceeded"))
	require.Contains(t, out.String(), "RecordActivityHeartbeat", "it may have another reason")
	out.Reset()

	of := logger.With("WorkflowID", "domain/a.example") //nolint:sloglint // the SDK's key
	for range 100 {
		of.Warn("could not record an attempt", "error", fmt.Errorf("record crawl 1: %w", full))
		of.WithGroup("sdk").Error("Activity error.", fromSDK(full))
		of.Warn("RecordActivityHeartbeat with error", fromSDK("context deadline exceeded"))
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), `level=ERROR msg="the disk is full: free some space, and the crawl resumes with all stored data `+
		`(could not extend file (SQLSTATE 53100))"`)
	require.NotContains(t, out.String(), "WorkflowID")
	of.Warn("something else", "error", "connection refused")
	require.Contains(t, out.String(), `msg="something else" WorkflowID=domain/a.example error="connection refused"`)
}

func fromSDK(err any) slog.Attr { return slog.Any("Error", err) } //nolint:sloglint // the SDK's key
