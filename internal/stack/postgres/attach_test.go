package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/datadir"
)

func TestAttach(t *testing.T) {
	t.Parallel()

	t.Run("CreatesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := Attach(t.Context(), b.cfg)
		require.ErrorIs(t, err, ErrNoCluster)
		require.Len(t, listing(t, b.cfg.Dir), 1)
	})

	t.Run("UsesWhatRuns", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		dir, err := datadir.Lock(t.Context(), b.cfg.Dir)
		require.NoError(t, err)
		defer func() { require.NoError(t, dir.Close()) }()
		server := start(t, b.cfg)
		require.NoError(t, dir.Publish(datadir.Info{DatabaseURL: server.URL()}))

		attached, err := Attach(t.Context(), b.cfg)
		require.NoError(t, err)
		require.Equal(t, server.URL(), attached.URL())
		require.NoError(t, attached.Close(t.Context()))
		execute(t, server.URL(), "SELECT 1")
	})

	t.Run("RunsItsOwnAndTakesTurns", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		first := start(t, b.cfg)
		execute(t, first.URL(), "CREATE TABLE kept AS SELECT 1")
		stop(t, first)

		attached, err := Attach(t.Context(), b.cfg)
		require.NoError(t, err)
		second := make(chan error, 1)
		go func() {
			other, err := Attach(context.Background(), b.cfg)
			if err == nil {
				err = other.Close(context.Background())
			}
			second <- err
		}()
		require.Equal(t, 1, count(t, attached.URL(), "kept"))
		require.Empty(t, second)
		require.NoError(t, attached.Close(t.Context()))
		require.NoError(t, <-second)
		_, running, err := datadir.Running(b.cfg.Dir)
		require.NoError(t, err)
		require.False(t, running)
	})

	t.Run("AsksForTheAddressOfAForeignDatabase", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		dir, err := datadir.Lock(t.Context(), b.cfg.Dir)
		require.NoError(t, err)
		defer func() { require.NoError(t, dir.Close()) }()
		require.NoError(t, dir.Publish(datadir.Info{Ready: true}))
		_, err = Attach(t.Context(), b.cfg)
		require.ErrorContains(t, err, "DATABASE_URL")
	})
}
