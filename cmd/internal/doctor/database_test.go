package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestAGoodDatabase(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.URL(t))
	for _, name := range []string{"database", "schema", "rights", "clock", "connections", "statistics", "bloat", "indexes", "row-age"} {
		requireFine(t, p.look(t, name))
	}
}

func TestADatabaseThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	_, err := db.Open(t.Context(), "postgres://nobody@127.0.0.1:1/mosey")
	require.Error(t, err)
	p := &Target{NoStore: err}
	requireFinding(t, p.look(t, "database"), Fault, "127.0.0.1:1", "DATABASE_URL")
	requireFinding(t, p.look(t, "schema"), Skipped, "no database")
	p = &Target{NoStore: fmt.Errorf("%w pools transactions", db.ErrPooler)}
	requireFinding(t, p.look(t, "database"), Fault, "pools transactions", "docs/operations.md")
}

func TestADatabaseWithoutSchema(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.UnmigratedURL(t))
	requireFinding(t, p.look(t, "schema"), Fault, "schema version 0", "mosey migrate")
	requireFinding(t, p.look(t, "indexes"), Skipped, "schema")
	requireFine(t, p.look(t, "database"))
}

// A newer schema that still serves this program is worth a note; one that does not is a fault.
func TestANewerSchema(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.URL(t))
	p.exec(t, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, true)")
	requireFinding(t, p.look(t, "schema"), Note, "9000", "Update this program")
	p.exec(t, "UPDATE installation SET min_schema_version = 9000")
	requireFinding(t, p.look(t, "schema"), Fault, "9000", "Use a newer Mosey")
}

func TestRights(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	p := patientOf(t, url)
	p.exec(t, "REVOKE INSERT ON page_links, images FROM mosey_worker")
	requireFinding(t, p.look(t, "rights"), Fault, "images, page_links", "GRANT mosey_worker")
	owner, err := db.OpenOwner(t.Context(), url)
	require.NoError(t, err)
	defer owner.Close()
	requireFinding(t, (&Target{Store: owner}).look(t, "rights"), Warning, "may delete history", "GRANT mosey_worker")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.URL(t))
	for _, set := range []string{
		"synchronous_commit = off", "default_transaction_isolation = 'serializable'", "lock_timeout = '5s'", "work_mem = '64kB'",
	} {
		p.exec(t, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+strings.ReplaceAll(set, "'", "''")+"', current_database()); END $$")
	}
	found := patientOf(t, p.DatabaseURL).look(t, "settings") // a session that begins now
	requireFinding(t, found, Fault, "synchronous_commit is off", "a site may be requested again", " RESET synchronous_commit")
	requireFinding(t, found, Fault, "default_transaction_isolation is serializable", " RESET default_transaction_isolation")
	requireFinding(t, found, Warning, "lock_timeout is 5000")
	requireFinding(t, found, Warning, "work_mem is 64 × kB")
	require.Empty(t, setting{isWrong: isBelow(4 << 20)}.judge(db.ServerSetting{Value: "4096", Unit: "kB"}))
	requireFinding(t, setting{name: "shared_buffers", isWrong: isBelow(128 << 20), severity: Warning, want: "'256MB'", restart: true}.
		judge(db.ServerSetting{Value: "1024", Unit: "8kB"}), Warning, "shared_buffers", "then restart Postgres")
}

func TestClocks(t *testing.T) {
	t.Parallel()
	requireFinding(t, judgeClock("theirs", time.Second, 0), OK, "1s ahead of this machine's")
	requireFinding(t, judgeClock("theirs", -5*time.Second, time.Millisecond), Warning, "5s behind", "NTP")
	requireFinding(t, judgeClock("theirs", time.Hour, time.Millisecond), Fault, "1h0m0s ahead of")
	requireFinding(t, judgeClock("theirs", 5*time.Second, 4*time.Second), OK, "plus or minus 4s")
}

func TestConnectionsAndAge(t *testing.T) {
	t.Parallel()
	requireFinding(t, judgeSessions(db.Sessions{Open: 90, Limit: 100, Reserved: 3}), Warning, "90 of 100", "max_connections = 200",
		"pool_max_conns")
	requireFinding(t, judgeSessions(db.Sessions{Open: 9, Limit: 100, OldestTransaction: 3 * time.Hour, Pid: 7}), Warning, "3h0m",
		"pg_terminate_backend(7)")
	requireFinding(t, judgeTransactionAge(100, 200_000_000), OK)
	requireFinding(t, judgeTransactionAge(400_000_000, 200_000_000), Warning, "VACUUM (FREEZE)")
	requireFinding(t, judgeTransactionAge(1_900_000_000, 200_000_000), Fault, "VACUUM (FREEZE)")
}

func TestStatisticsAreRepaired(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.URL(t))
	p.exec(t, "ALTER TABLE seed_files SET (autovacuum_enabled = off)")
	p.exec(t, `WITH x AS (
		INSERT INTO seed_files (run_id, file, version, entries) SELECT n, 'f', 'v', 1 FROM generate_series(1, 20000) n RETURNING 1)
		SELECT pg_stat_force_next_flush() FROM x LIMIT 1`)
	requireFinding(t, p.look(t, "statistics"), Warning, "seed_files", "--repair", "ANALYZE seed_files")
	requireFinding(t, p.examine(t, "statistics", true), Note, "seed_files", "analyzed seed_files")
	requireFine(t, p.look(t, "statistics"))
}

func TestBloatAndIndexes(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.URL(t))
	p.exec(t, "ALTER TABLE run_outcomes_new SET (autovacuum_enabled = off)")
	p.exec(t, `INSERT INTO run_outcomes_new (ended_at, run_id, outcome, attempts)
		SELECT now(), 1, 'success', 1 FROM generate_series(1, 60000)`)
	p.exec(t, "WITH x AS (DELETE FROM run_outcomes_new RETURNING 1) SELECT pg_stat_force_next_flush() FROM x LIMIT 1")
	requireFinding(t, p.look(t, "bloat"), Warning, "run_outcomes_new has 60000 dead rows", "VACUUM (ANALYZE) run_outcomes_new")

	p.exec(t, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'domains_refused'::regclass")
	requireFinding(t, p.look(t, "indexes"), Fault, "domains_refused of domains is invalid", "REINDEX INDEX CONCURRENTLY domains_refused")
}
