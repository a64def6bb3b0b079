package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
)

// Of all processes on a database one reconciles at a time, until it leaves or its connection
// ends.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	first, err := b.AcquireLeadership(t.Context())
	require.NoError(t, err)
	require.NotNil(t, first)
	second, err := b.AcquireLeadership(t.Context())
	require.NoError(t, err)
	require.Nil(t, second)
	require.True(t, first.IsHeld(t.Context()))
	first.Release()

	// Postgres ends a session a moment after its client, or pg_terminate_backend, has asked for it
	next := func() (lead *db.Leadership) {
		eventually(t, "the lock is free", func() bool {
			lead, err = b.AcquireLeadership(t.Context())
			require.NoError(t, err)
			return lead != nil
		})
		return lead
	}
	second = next()
	b.exec(t, `SELECT pg_terminate_backend(l.pid) FROM pg_locks l INNER JOIN pg_database d ON d.oid = l.database
		WHERE l.locktype = 'advisory' AND d.datname = current_database()`)
	eventually(t, "its connection is gone, and the lock with it", func() bool { return !second.IsHeld(t.Context()) })
	second.Release()
	next().Release()
}
