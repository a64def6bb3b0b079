package dbtest

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/keywords"
)

// WriteKeywords has all pages found that were recorded.
func WriteKeywords(t testing.TB, store *db.Store) {
	t.Helper()
	w := keywords.Writer{Store: store, Logger: slog.New(slog.DiscardHandler)}
	require.NoError(t, w.Write(t.Context()))
}
