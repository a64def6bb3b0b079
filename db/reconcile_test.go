package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

// Of all processes on a database one reconciles at a time, until it leaves or its connection
// ends.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	b := setup(t, crawl.Settings{})
	first, err := b.Lead(t.Context())
	require.NoError(t, err)
	require.NotNil(t, first)
	second, err := b.Lead(t.Context())
	require.NoError(t, err)
	require.Nil(t, second)
	require.True(t, first.Lasts(t.Context()))
	first.Leave()

	second, err = b.Lead(t.Context())
	require.NoError(t, err)
	require.NotNil(t, second)
	b.exec(t, `SELECT pg_terminate_backend(l.pid) FROM pg_locks l INNER JOIN pg_database d ON d.oid = l.database
		WHERE l.locktype = 'advisory' AND d.datname = current_database()`)
	require.False(t, second.Lasts(t.Context()), "its connection is gone, and the lock with it")
	second.Leave()
	third, err := b.Lead(t.Context())
	require.NoError(t, err)
	require.NotNil(t, third)
	third.Leave()
}
