package plans

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
)

func TestDevBuild(t *testing.T) {
	if os.Getenv("PLANS_BUILD") == "" {
		t.Skip()
	}
	d := newDatabase(t)
	name := d.config.ConnConfig.Database
	conn, err := pgx.Connect(t.Context(), os.Getenv("DATABASE_URL"))
	require.NoError(t, err)
	conn.Exec(t.Context(), "DROP DATABASE IF EXISTS plans_stale")
	conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
	_, err = conn.Exec(t.Context(), "CREATE DATABASE plans_stale TEMPLATE "+name)
	require.NoError(t, err)
}

func devDatabase(t *testing.T) *database {
	conn, err := pgx.Connect(t.Context(), os.Getenv("DATABASE_URL"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "DROP DATABASE IF EXISTS plans_work WITH (FORCE)")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "CREATE DATABASE plans_work TEMPLATE plans_stale")
	require.NoError(t, err)
	store, err := db.OpenOwner(t.Context(), "postgres://postgres@127.0.0.1:15439/plans_work")
	require.NoError(t, err)
	t.Cleanup(store.Close)
	_, err = db.Migrate(t.Context(), store.Pool())
	require.NoError(t, err)
	admin, err := pgx.ConnectConfig(context.Background(), store.Pool().Config().ConnConfig)
	require.NoError(t, err)
	return &database{admin: admin, config: store.Pool().Config()}
}
