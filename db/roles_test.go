package db_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

// unread are the tables that a reader may not read.
var unread = []string{"staged_seeds", "seed_files"}

// relation is a table or a view of the schema.
type relation struct {
	Name string
	// Column is one that a statement may set.
	Column string
	View   bool
	// History is that its rows are kept for ever.
	History bool
}

// relations are all there are, so that a new one is looked at by itself.
func relations(t *testing.T, b *bundle) []relation {
	t.Helper()
	rows, err := b.Pool().Query(t.Context(), `SELECT c.relname AS name, c.relkind = 'v' AS view,
			(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attidentity = '' AND a.attname <> 'id' LIMIT 1) AS column,
			EXISTS (SELECT 1 FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
				WHERE g.tgrelid = c.oid AND p.proname = 'history_append_only') AS history
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[relation])
	require.NoError(t, err)
	require.Greater(t, len(all), 30)
	return all
}

// loggedIn is a session of a login that is a member of one role alone.
type loggedIn struct{ *pgx.Conn }

func logIn(t *testing.T, database, role string) loggedIn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dbtest.Login(t, database, role))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return loggedIn{conn}
}

// refuses fails the test unless a statement is refused for want of a right.
func (l loggedIn) refuses(t *testing.T, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		_, err := l.Exec(t.Context(), sql)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, sql)
		require.Equal(t, "42501", pg.Code, "insufficient_privilege: %s: %s", sql, pg.Message)
	}
}

func (l loggedIn) allows(t *testing.T, sql string) {
	t.Helper()
	_, err := l.Exec(t.Context(), sql)
	require.NoError(t, err, sql)
}

// owned are statements that only the owner of a table may run.
func owned(r relation) []string {
	kind := "TABLE "
	if r.View {
		kind = "VIEW "
	}
	list := []string{"DROP " + kind + r.Name, "ALTER " + kind + r.Name + " RENAME TO mine"}
	if !r.View {
		list = append(list, "TRUNCATE "+r.Name, "ALTER TABLE "+r.Name+" DISABLE TRIGGER ALL", "ALTER TABLE "+r.Name+" ADD COLUMN x text",
			"CREATE INDEX ON "+r.Name+" (\""+r.Column+"\")")
	}
	return list
}

// beyond are statements that neither a reader nor a worker may run.
var beyond = []string{
	"CREATE TABLE mine (x text)",
	"CREATE FUNCTION mine() RETURNS text LANGUAGE sql AS 'SELECT 1::text'",
	"CREATE SCHEMA mine",
	"CREATE OR REPLACE FUNCTION history_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
	"DROP FUNCTION history_append_only CASCADE",
	"CREATE ROLE mosey_mine",
	"CREATE DATABASE mosey_mine",
	"ALTER SYSTEM SET fsync = off",
	"SET session_replication_role = replica",
	"SELECT pg_read_file('PG_VERSION')",
	"SELECT rolpassword FROM pg_authid",
	"COPY (SELECT 1) TO PROGRAM 'true'",
	"COPY (SELECT 1) TO '/dev/null'",
	"ALTER DATABASE template1 SET work_mem = '1GB'",
}

func TestReadersRights(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	url := b.Pool().Config().ConnString()
	all := relations(t, b)

	t.Run("ReadAllButWhatIsOnItsWay", func(t *testing.T) {
		t.Parallel()
		reader := logIn(t, url, "mosey_reader")
		for _, r := range all {
			read := "SELECT * FROM " + r.Name + " LIMIT 1"
			if slices.Contains(unread, r.Name) {
				reader.refuses(t, read)
			} else {
				reader.allows(t, read)
			}
		}
	})

	t.Run("ChangeNothing", func(t *testing.T) {
		t.Parallel()
		reader := logIn(t, url, "mosey_reader")
		for _, r := range all {
			reader.refuses(t, owned(r)...)
			reader.refuses(t, "INSERT INTO "+r.Name+" DEFAULT VALUES", "DELETE FROM "+r.Name)
			reader.refuses(t, "UPDATE "+r.Name+" SET \""+r.Column+"\" = \""+r.Column+"\"")
			if !r.View {
				reader.refuses(t, "SELECT 1 FROM "+r.Name+" FOR UPDATE")
			}
		}
		reader.refuses(t, beyond...)
		reader.refuses(t, "SET ROLE mosey_worker", "SET ROLE "+pgx.Identifier{one[string](t, b, "SELECT current_user::text")}.Sanitize())
		reader.refuses(t, "SELECT nextval('pages_id_seq')", "SELECT setval('pages_id_seq', 1)")
		reader.refuses(t, "SELECT due_update(ARRAY['a.example'])")
	})

	t.Run("CallOnlyFunctionsThatRead", func(t *testing.T) {
		t.Parallel()
		type function struct {
			Signature                string
			Reads, Allowed, Everyone bool
			Definer                  bool
		}
		rows, err := b.Pool().Query(t.Context(), `SELECT p.oid::regprocedure::text AS signature, p.provolatile <> 'v' AS reads, p.prosecdef AS definer,
				has_function_privilege('mosey_reader', p.oid, 'EXECUTE') AS allowed,
				p.proacl IS NULL OR EXISTS (SELECT 1 FROM aclexplode(p.proacl) a WHERE a.grantee = 0) AS everyone
			FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace`)
		require.NoError(t, err)
		functions, err := pgx.CollectRows(rows, pgx.RowToStructByName[function])
		require.NoError(t, err)
		require.Greater(t, len(functions), 60)
		for _, f := range functions {
			require.Equal(t, f.Reads, f.Allowed, f.Signature)
			require.False(t, f.Everyone, "anybody may call %s", f.Signature)
			require.False(t, f.Definer, "%s has its owner's rights: whose search_path does it use?", f.Signature)
		}
	})
}

// A worker changes rows. What it may not do is lose history or change the rules.
func TestWorkersRightsOnAllTables(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	url := b.Pool().Config().ConnString()
	w := logIn(t, url, "mosey_worker")
	history := 0
	for _, r := range relations(t, b) {
		w.allows(t, "SELECT * FROM "+r.Name+" LIMIT 1")
		w.refuses(t, owned(r)...)
		if r.History && r.Name != "robots_history" { // see robots_forget
			history++
			w.refuses(t, "DELETE FROM "+r.Name)
		}
	}
	require.Equal(t, 5, history)
	w.refuses(t, beyond...)
	w.refuses(t, "SET ROLE mosey_reader", "SET ROLE "+pgx.Identifier{one[string](t, b, "SELECT current_user::text")}.Sanitize())
}

func TestOpenReader(t *testing.T) {
	t.Parallel()
	owner := setup(t, settings.Settings{})
	url := owner.Pool().Config().ConnString()

	// as opens a reader and returns the role that it has.
	as := func(t *testing.T, url string) (*bundle, string) {
		t.Helper()
		store, err := db.OpenReader(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(store.Close)
		b := &bundle{Store: store}
		schema, err := db.SchemaOf(t.Context(), b.Pool())
		require.NoError(t, err)
		require.NoError(t, schema.Check())
		_, err = b.Run(t.Context(), "test")
		require.NoError(t, err)
		_, err = b.EnsureRun(t.Context(), "other", "test", settings.Settings{})
		require.Error(t, err)
		return b, one[string](t, b, "SELECT current_user::text")
	}

	t.Run("TakesTheReadersRole", func(t *testing.T) {
		t.Parallel()
		_, role := as(t, url)
		require.Equal(t, "mosey_reader", role)
		_, role = as(t, dbtest.Login(t, url, "mosey_reader"))
		require.Equal(t, "mosey_reader", role)
	})

	t.Run("ReadsAsTheWorkerThatItLogsInAs", func(t *testing.T) {
		t.Parallel()
		_, role := as(t, dbtest.Login(t, url, "mosey_worker"))
		require.Equal(t, "mosey_worker", role)
	})

	t.Run("PassesOverARoleThatItMayNotTake", func(t *testing.T) {
		t.Parallel()
		if one[int](t, owner, "SELECT current_setting('server_version_num')::int") < 160_000 {
			t.Skip("Postgres grants roles WITH SET FALSE from 16 on")
		}
		login := dbtest.Login(t, url, "mosey_reader")
		cfg, err := pgx.ParseConfig(login)
		require.NoError(t, err)
		_, err = owner.Pool().Exec(t.Context(), "GRANT mosey_reader TO "+cfg.User+" WITH SET FALSE")
		require.NoError(t, err)
		_, role := as(t, login)
		require.Equal(t, cfg.User, role)
	})

	t.Run("PassesOverARoleWithoutRightsInThisDatabase", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		_, err := b.Pool().Exec(t.Context(), "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM mosey_reader")
		require.NoError(t, err)
		_, role := as(t, b.Pool().Config().ConnString())
		require.Equal(t, "mosey_worker", role)
	})
}

// Postgres is not to log what is stored, where the login may say so.
func TestValuesAreKeptOutOfPostgresLog(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	url := b.Pool().Config().ConnString()
	name := pgx.Identifier{b.Pool().Config().ConnConfig.Database}.Sanitize()
	_, err := b.Pool().Exec(t.Context(), "ALTER DATABASE "+name+" SET log_parameter_max_length = 100")
	require.NoError(t, err)
	for _, open := range []func(context.Context, string) (*db.Store, error){db.Open, db.OpenOwner, db.OpenReader, db.OpenPages} {
		for login, want := range map[string]string{url: "0", dbtest.Login(t, url, "mosey_reader"): "100B"} {
			store, err := open(t.Context(), login)
			require.NoError(t, err)
			t.Cleanup(store.Close)
			b := &bundle{Store: store}
			require.Equal(t, want, one[string](t, b, "SELECT current_setting('log_parameter_max_length')"))
			require.Equal(t, "0", one[string](t, b, "SELECT current_setting('log_parameter_max_length_on_error')"))
		}
	}
}

// A database whose owner may not create roles is migrated, and read, all the same.
func TestRolesOfAnOwnerWithoutTheRight(t *testing.T) {
	t.Parallel()
	bare := dbtest.UnmigratedURL(t)
	admin, err := pgx.Connect(t.Context(), bare)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close(context.Background())) })
	url := dbtest.Login(t, bare, "pg_read_all_settings")
	login, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	name := pgx.Identifier{login.User}.Sanitize()
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), "REASSIGN OWNED BY "+name+" TO CURRENT_USER; DROP OWNED BY "+name)
		require.NoError(t, err)
	})
	_, err = admin.Exec(t.Context(), "GRANT ALL ON SCHEMA public TO "+name)
	require.NoError(t, err)

	owner, err := db.OpenOwner(t.Context(), url)
	require.NoError(t, err)
	_, err = db.Migrate(t.Context(), owner.Pool(), nil)
	owner.Close()
	require.NoError(t, err)
	store, err := db.OpenReader(t.Context(), url)
	require.NoError(t, err)
	defer store.Close()
	require.Equal(t, strings.Trim(name, `"`), one[string](t, &bundle{Store: store}, "SELECT current_user::text"))
	_, err = store.Runs(t.Context())
	require.NoError(t, err)
}
