package db_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
)

// A migration waits for those who use what it changes. It holds nobody up meanwhile, says whom it
// waits for, and is done once they are.
func TestMigrateUnderLoad(t *testing.T) {
	t.Parallel()

	t.Run("SaysWhomItWaitsForAndHoldsNobodyUp", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		tx, err := b.Pool().Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // where the test fails
		_, err = tx.Exec(t.Context(), "LOCK TABLE pages IN ACCESS SHARE MODE")
		require.NoError(t, err)
		pid := tx.Conn().PgConn().PID()
		said := make(chan string, 10)
		done := make(chan error, 1)
		go func() {
			_, err := db.MigrateFiles(t.Context(), b.Pool(), newer(t, "ALTER TABLE pages ADD COLUMN later text;"), func(s string) { said <- s })
			done <- err
		}()
		require.Contains(t, <-said, fmt.Sprintf("process %d (mosey), which has been idle in transaction for ", pid))
		// a worker's statement queues up behind the migration's for as long as that tries
		one[int](t, b, "SELECT count(*) FROM pages")
		require.NoError(t, tx.Rollback(t.Context()))
		require.NoError(t, <-done)
		require.Empty(t, said, "it is said once")
		require.Zero(t, one[int](t, b, "SELECT count(later) FROM pages"))
	})

	t.Run("TriesAgainAfterADeadlock", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		tx, err := b.Pool().Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // where the test fails
		_, err = tx.Exec(t.Context(), "LOCK TABLE domains IN ROW EXCLUSIVE MODE")
		require.NoError(t, err)
		done := make(chan error, 1)
		said := make(chan string, 10)
		go func() {
			_, err := db.MigrateFiles(t.Context(), b.Pool(),
				newer(t, "ALTER TABLE pages ADD COLUMN later text; ALTER TABLE domains ADD COLUMN later text;"), func(s string) { said <- s })
			done <- err
		}()
		<-said // it has pages, and waits for domains
		_, err = tx.Exec(t.Context(), "LOCK TABLE pages IN ROW EXCLUSIVE MODE")
		require.NoError(t, err, "who was there first gets on")
		require.NoError(t, tx.Rollback(t.Context()))
		require.NoError(t, <-done)
		require.Zero(t, one[int](t, b, "SELECT count(later) FROM domains"))
	})

	t.Run("WhatIsWrongIsNotTriedAgain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		_, err := db.MigrateFiles(t.Context(), b.Pool(), newer(t, "ALTER TABLE nothing ADD COLUMN later text;"), nil)
		require.ErrorContains(t, err, `relation "nothing" does not exist`)
	})
}
