package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

func databaseChecks() []Check {
	anySchema, migrated := (*Target).store, (*Target).usableStore
	return setPart(Database, []Check{
		{
			Name: "database", run: checkDatabase,
			About: "Checks that the database can be opened, and that its Postgres is version 15 or later.",
		},
		{
			Name: "schema", run: checkWith(anySchema, checkSchema),
			About: "Compares the version of the schema with this program's.",
		},
		{
			Name: "rights", run: checkRows(migrated, (*db.Store).Rights, judgeRights),
			About: "Checks that the role of workers has its privileges, and cannot delete history.",
		},
		{
			Name: "clock", About: "Compares the clock of this machine with the database's.",
			run: checkRows(anySchema, (*db.Store).Server, func(v db.Server) []Finding {
				return judgeClock("the database's clock", v.ClockOffset, v.ClockOffsetError)
			}),
		},
		{
			Name: "settings", run: checkWith(anySchema, checkSettings),
			About: "Checks the settings of Postgres for data loss, wrong behavior and slowness.",
		},
		{
			Name: "connections", run: checkRows(anySchema, (*db.Store).Sessions, judgeSessions),
			About: "Checks for free connections for another worker, and for endless transactions.",
		},
		{
			Name: "statistics", run: checkRows(migrated, (*db.Store).Tables, judgeStatistics),
			repair: repairStatistics,
			About:  "Finds tables with missing or stale statistics, which cause slow plans.",
		},
		{Name: "bloat", About: "Finds tables with many dead rows.", run: checkRows(migrated, (*db.Store).Tables, judgeBloat)},
		{
			Name: "indexes", run: checkRows(migrated, (*db.Store).Indexes, judgeIndexes),
			About: "Finds invalid indexes, and indexes unused for long.",
		},
		{
			Name: "fleet", run: checkWith(migrated, checkFleet),
			About: "Finds silent workers, and requests that wait for the limit of the fleet.",
		},
		{
			Name: "forgotten", run: checkWith(migrated, checkErasures),
			About: "Finds domains whose content was ordered to be erased, and is not fully erased because the command was killed.",
		},
		{
			Name: "row-age", run: checkWith(anySchema, checkTransactionAge),
			About: "Checks the age of the oldest transaction number against the limit of Postgres.",
		},
	})
}

const minPostgresVersion = 15

func checkDatabase(ctx context.Context, p *Target) ([]Finding, error) {
	switch {
	case p.Store == nil && errors.Is(p.NoStore, ErrAbsent):
		return nil, p.NoStore
	case p.Store == nil && errors.Is(p.NoStore, db.ErrPooler):
		return newFinding(Fault, "See docs/operations.md on connection poolers.", "%v", p.NoStore), nil
	case p.Store == nil:
		return newFinding(Fault, "Check that Postgres runs, and that DATABASE_URL or the data directory is correct.", "%v", p.NoStore), nil
	}
	v, err := p.Store.Server(ctx)
	switch {
	case err != nil:
		return nil, err
	case v.Number/10_000 < minPostgresVersion:
		return newFinding(Fault, "Move the database to Postgres 15 or later with pg_upgrade or pg_dump.",
			"Postgres %s is too old", v.Version), nil
	case v.Standby:
		return newFinding(Fault, "Name the primary in DATABASE_URL (with several hosts: target_session_attrs=read-write).",
			"the database is a standby, which accepts no changes"), nil
	case v.Encoding != "UTF8":
		return newFinding(Fault, "Create the database with createdb --encoding UTF8 --template template0.",
			"the encoding of the database is %s, and pages need UTF8", v.Encoding), nil
	}
	return okFinding("Postgres %s, %s", v.Version, explain.Size(v.Bytes)), nil
}

func checkSchema(ctx context.Context, store *db.Store) ([]Finding, error) {
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return nil, err
	}
	if err := schema.Check(); err != nil {
		remedy := "Run mosey migrate as the owner of the schema."
		if schema.Current > schema.Newest {
			remedy = "Use a newer Mosey."
		}
		return newFinding(Fault, remedy, "%v", err), nil
	}
	if schema.Current > schema.Newest {
		return newFinding(Note, "Update this program to the version of the schema.",
			"version %d, newer than this program's %d, and still compatible",
			schema.Current, schema.Newest), nil
	}
	return okFinding("version %d", schema.Current), nil
}

// usableStore returns the database if this program knows its schema.
func (p *Target) usableStore(ctx context.Context) (*db.Store, error) {
	store, err := p.store(ctx)
	if err != nil {
		return nil, err
	}
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err == nil && schema.Check() != nil {
		err = Absent("this program cannot use the schema: see the check schema")
	}
	return store, err
}

func judgeRights(r db.Rights) []Finding {
	switch {
	case len(r.MissingTables) > 0:
		return newFinding(Fault, "Run mosey migrate as the owner of the schema, which grants them, and GRANT mosey_worker TO this user.",
			"the role %s may not use %s", r.Role, joinThree(r.MissingTables))
	case r.CanDelete && !r.WorkerRoleExists:
		return newFinding(Warning, "Run mosey migrate as a user with CREATEROLE, which creates the role mosey_worker for workers.",
			"the role %s may delete history, and the role mosey_worker is missing", r.Role)
	case r.CanDelete:
		return newFinding(Warning, "GRANT mosey_worker TO the user of DATABASE_URL.", "the role %s may delete history", r.Role)
	}
	return okFinding("workers use the role %s, which cannot delete history", r.Role)
}

func joinThree(names []string) string { return joinFirst(3, names) }

func joinFirst(limit int, names []string) string {
	text := strings.Join(names[:min(len(names), limit)], ", ")
	if more := len(names) - limit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Larger clock differences are a warning, or a fault.
const (
	clockSkewWarning = 2 * time.Second
	clockSkewFault   = time.Minute
)

// judgeClock reports how far another clock is ahead of ours. Slots use the database's clock, so
// that ours causes no early request.
func judgeClock(clock string, offset, uncertainty time.Duration) []Finding {
	const remedy = "Let both machines set their clocks by NTP (timedatectl set-ntp true)."
	direction := "ahead of"
	if offset < 0 {
		direction = "behind"
	}
	text := fmt.Sprintf("%s is %s %s this machine's, plus or minus %s",
		clock, offset.Abs().Round(time.Millisecond), direction, max(uncertainty, time.Millisecond).Round(time.Millisecond))
	switch skew := offset.Abs() - uncertainty; {
	case skew > clockSkewFault:
		return newFinding(Fault, remedy, "%s", text)
	case skew > clockSkewWarning:
		return newFinding(Warning, remedy, "%s", text)
	}
	return okFinding("%s", text)
}

func judgeSessions(v db.Sessions) []Finding {
	found := okFinding("%d of %d are in use", v.Open, v.Limit)
	if free := v.Limit - v.Reserved - v.Open; free < db.PoolConnsDefault {
		found = newFinding(Warning,
			fmt.Sprintf("Give each process fewer (pool_max_conns=8 in DATABASE_URL), or raise the limit: "+
				"ALTER SYSTEM SET max_connections = %d; then restart Postgres.", v.Limit*2),
			"%d of %d are in use: another worker needs up to %d", v.Open, v.Limit, db.PoolConnsDefault)
	}
	if v.OldestTransaction > time.Hour {
		found = append(found, newFinding(Warning,
			fmt.Sprintf("Inspect it (SELECT * FROM pg_stat_activity WHERE pid = %d), and end it: SELECT pg_terminate_backend(%d).", v.Pid,
				v.Pid),
			"a transaction has been open for %s, and vacuum cannot remove dead rows", explain.ApproxDuration(v.OldestTransaction))...)
	}
	return found
}

// Statistics are stale if more rows changed since the last analysis than the table has.
const minStaleRows = 10_000

func isStale(t db.TableState) bool {
	return !t.Seldom && (t.Modified > minStaleRows && t.Modified > t.Live || !t.Analyzed && t.Live > minStaleRows)
}

func judgeStatistics(tables []db.TableState) (found []Finding) {
	for _, t := range tables {
		if !isStale(t) {
			continue
		}
		problem := fmt.Sprintf("%s has %d rows and was never analyzed", t.Name, t.Live)
		if t.Analyzed {
			problem = fmt.Sprintf("%s has %d rows, of which %d have changed since it was analyzed", t.Name, t.Live, t.Modified)
		}
		found = append(found, newFinding(Warning, "Run mosey doctor --only statistics --repair, or ANALYZE "+t.Name+".", "%s", problem)...)
	}
	return findingsOrOK(found, "the statistics of %d tables are up to date", len(tables))
}

func repairStatistics(ctx context.Context, p *Target) (string, error) {
	tables, err := p.Store.Tables(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range tables {
		if isStale(t) {
			names = append(names, t.Name)
		}
	}
	// only the owner of a table may analyze it, not a worker's role
	err = wiring.AsOwner(ctx, p.DatabaseURL, func(owner *db.Store) error { return owner.Analyze(ctx, names) })
	return "analyzed " + joinThree(names), err
}

// Dead rows are too many if they exceed half the live rows.
const minDeadRows = 50_000

func judgeBloat(tables []db.TableState) (found []Finding) {
	for _, t := range tables {
		if t.Dead > minDeadRows && t.Dead > t.Live/2 {
			found = append(found, newFinding(Warning, "VACUUM (ANALYZE) "+t.Name+"; and check that no transaction is open for hours.",
				"%s has %d dead rows, and %d live rows", t.Name, t.Dead, t.Live)...)
		}
	}
	return findingsOrOK(found, "no table has many dead rows")
}

// An index is reported as unused from this size and after this time.
const (
	unusedBytes  = 16 << 20
	minUnusedAge = 14 * 24 * time.Hour
)

func judgeIndexes(all []db.IndexState) (found []Finding) {
	for _, i := range all {
		switch {
		case !i.Valid:
			found = append(found, newFinding(Fault, "REINDEX INDEX CONCURRENTLY "+i.Name+".",
				"%s of %s is invalid: Postgres does not use it", i.Name, i.Table)...)
		case i.Scans == 0 && !i.Unique && i.Bytes > unusedBytes && time.Since(i.Since) > minUnusedAge:
			found = append(found, newFinding(Note, "Keep it: it serves a rare query of Mosey.",
				"no query has used %s of %s, with %s, since %s", i.Name, i.Table, explain.Size(i.Bytes), explain.Stamp(i.Since))...)
		}
	}
	return findingsOrOK(found, "all %d indexes are valid", len(all))
}

// Postgres refuses changes three million transactions before two billion.
const maxTransactionAge = 1_500_000_000

func checkTransactionAge(ctx context.Context, store *db.Store) ([]Finding, error) {
	age, freeze, err := store.Age(ctx)
	if err != nil {
		return nil, err
	}
	return judgeTransactionAge(age, freeze), nil
}

func judgeTransactionAge(age, freeze int64) []Finding {
	const remedy = "VACUUM (FREEZE), and check that autovacuum is on and no transaction or replication slot holds old rows."
	switch {
	case age > maxTransactionAge:
		return newFinding(Fault, remedy, "the oldest row is %d transactions old: at two billion Postgres stops", age)
	case age > freeze*3/2:
		return newFinding(Warning, remedy, "the oldest row is %d transactions old, and rows should be frozen at %d", age, freeze)
	}
	return okFinding("the oldest row is %d transactions old", age)
}

const (
	maxWorkersChecked = 1000
	maxWorkersNamed   = 3
	// minWorkerSilence is the least silence reported. Workers renew their rows every ten seconds.
	minWorkerSilence = 2 * time.Minute
)

// checkFleet checks for dead workers without a replacement, and for a limit that is too low.
func checkFleet(ctx context.Context, store *db.Store) ([]Finding, error) {
	fleet, err := store.Fleet(ctx, false, maxWorkersChecked)
	if err != nil {
		return nil, err
	}
	use, err := store.FleetUse(ctx)
	if err != nil {
		return nil, err
	}
	var silent []string
	isWorking := 0
	for _, w := range fleet.Workers {
		if fleet.Now.Sub(w.SeenAt) < minWorkerSilence {
			isWorking++
			continue
		}
		silent = append(silent, w.Identity+" since "+explain.Stamp(w.SeenAt))
	}
	var found []Finding
	if len(silent) > 0 {
		found = append(found, newFinding(Note,
			"If such a worker still runs, its log shows why it does not reach the database: it begins no requests. "+
				"Otherwise no action is needed: other workers have taken over.",
			"%s silent: %s", explain.Count(int64(len(silent)), "worker"), strings.Join(silent[:min(len(silent), maxWorkersNamed)], "; "))...)
	}
	if use.Full() {
		found = append(found, newFinding(Note,
			"Raise the limit if machines and network allow it: mosey workers --max-fetches N, or 0 for no limit.",
			"%s", explain.Limited(use))...)
	}
	return findingsOrOK(found, "%s", explain.Count(int64(isWorking), "worker")), nil
}

const maxErasures = 1_000

func checkErasures(ctx context.Context, store *db.Store) ([]Finding, error) {
	open, err := store.UnfinishedForgets(ctx, maxErasures)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return okFinding("all content ordered to be erased is erased"), nil
	}
	var names, commands []string
	for _, f := range open {
		names = append(names, fmt.Sprintf("%s since %s", f.Domain, explain.Stamp(f.RequestedAt)))
		commands = append(commands, fmt.Sprintf("mosey block %s --reason TEXT --forget", f.Domain))
	}
	examples := strings.Join(commands[:min(len(commands), maxExamples)], "; ")
	return newFinding(Fault, "Unless it still runs, give the command again: "+examples+".",
		"the content of %s is not fully erased: %s", explain.Count(int64(len(open)), "domain"), joinThree(names)), nil
}
