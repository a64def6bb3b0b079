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
	anySchema, migrated := (*Patient).store, (*Patient).migrated
	return of(Database, []Check{
		{
			Name: "database", look: lookDatabase,
			About: "Checks that the database can be opened, and that its Postgres is version 15 or later.",
		},
		{
			Name: "schema", look: with(anySchema, lookSchema),
			About: "Compares the version of the schema with this program's.",
		},
		{
			Name: "rights", look: read(migrated, (*db.Store).Rights, judgeRights),
			About: "Checks that the role of workers has its privileges, and cannot delete history.",
		},
		{
			Name: "clock", About: "Compares the clock of this machine with the database's.",
			look: read(anySchema, (*db.Store).Server, func(v db.Server) []Finding {
				return judgeClock("the database's clock", v.Ahead, v.Within)
			}),
		},
		{
			Name: "settings", look: with(anySchema, lookSettings),
			About: "Checks the settings of Postgres for data loss, wrong behavior and slowness.",
		},
		{
			Name: "connections", look: read(anySchema, (*db.Store).Sessions, judgeSessions),
			About: "Checks for free connections for another worker, and for endless transactions.",
		},
		{
			Name: "statistics", look: read(migrated, (*db.Store).Tables, judgeStatistics),
			repair: repairStatistics,
			About:  "Finds tables with missing or stale statistics, which cause slow plans.",
		},
		{Name: "bloat", About: "Finds tables with many dead rows.", look: read(migrated, (*db.Store).Tables, judgeBloat)},
		{
			Name: "indexes", look: read(migrated, (*db.Store).Indexes, judgeIndexes),
			About: "Finds invalid indexes, and indexes unused for long.",
		},
		{
			Name: "fleet", look: with(migrated, lookFleet),
			About: "Finds silent workers, and requests that wait for the limit of the fleet.",
		},
		{
			Name: "forgotten", look: with(migrated, lookForgotten),
			About: "Finds domains whose content was ordered to be erased, and is not fully erased because the command was killed.",
		},
		{
			Name: "row-age", look: with(anySchema, lookAge),
			About: "Checks the age of the oldest transaction number against the limit of Postgres.",
		},
	})
}

const postgresLeast = 15

func lookDatabase(ctx context.Context, p *Patient) ([]Finding, error) {
	switch {
	case p.Store == nil && errors.Is(p.NoStore, ErrAbsent):
		return nil, p.NoStore
	case p.Store == nil && errors.Is(p.NoStore, db.ErrPooler):
		return one(Fault, "See docs/operations.md on connection poolers.", "%v", p.NoStore), nil
	case p.Store == nil:
		return one(Fault, "Check that Postgres runs, and that DATABASE_URL or the data directory is correct.", "%v", p.NoStore), nil
	}
	v, err := p.Store.Server(ctx)
	switch {
	case err != nil:
		return nil, err
	case v.Number/10_000 < postgresLeast:
		return one(Fault, "Move the database to Postgres 15 or later with pg_upgrade or pg_dump.", "Postgres %s is too old", v.Version), nil
	case v.Standby:
		return one(Fault, "Name the primary in DATABASE_URL (with several hosts: target_session_attrs=read-write).",
			"the database is a standby, which accepts no changes"), nil
	case v.Encoding != "UTF8":
		return one(Fault, "Create the database with createdb --encoding UTF8 --template template0.",
			"the encoding of the database is %s, and pages need UTF8", v.Encoding), nil
	}
	return fine("Postgres %s, %s", v.Version, explain.Size(v.Bytes)), nil
}

func lookSchema(ctx context.Context, store *db.Store) ([]Finding, error) {
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return nil, err
	}
	if err := schema.Check(); err != nil {
		remedy := "Run mosey migrate as the owner of the schema."
		if schema.Current > schema.Known {
			remedy = "Use a newer Mosey."
		}
		return one(Fault, remedy, "%v", err), nil
	}
	if schema.Current > schema.Known {
		return one(Note, "Update this program to the version of the schema.", "version %d, newer than this program's %d, and still compatible",
			schema.Current, schema.Known), nil
	}
	return fine("version %d", schema.Current), nil
}

// migrated returns the database if this program knows its schema.
func (p *Patient) migrated(ctx context.Context) (*db.Store, error) {
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
	case len(r.Lacking) > 0:
		return one(Fault, "Run mosey migrate as the owner of the schema, which grants them, and GRANT mosey_worker TO this user.",
			"the role %s may not use %s", r.Role, named(r.Lacking))
	case r.Deletes && !r.HasWorker:
		return one(Warning, "Run mosey migrate as a user with CREATEROLE, which creates the role mosey_worker for workers.",
			"the role %s may delete history, and the role mosey_worker is missing", r.Role)
	case r.Deletes:
		return one(Warning, "GRANT mosey_worker TO the user of DATABASE_URL.", "the role %s may delete history", r.Role)
	}
	return fine("workers use the role %s, which cannot delete history", r.Role)
}

func named(names []string) string { return firstOf(3, names) }

func firstOf(most int, names []string) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Larger clock differences are a warning, or a fault.
const (
	clockOff   = 2 * time.Second
	clockWrong = time.Minute
)

// judgeClock reports how far another clock is ahead of ours. Slots use the database's clock, so
// that ours causes no early request.
func judgeClock(whose string, ahead, within time.Duration) []Finding {
	const remedy = "Let both machines set their clocks by NTP (timedatectl set-ntp true)."
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	text := fmt.Sprintf("%s is %s %s this machine's, plus or minus %s", whose, ahead.Abs().Round(time.Millisecond), way, max(within,
		time.Millisecond).Round(time.Millisecond))
	switch off := ahead.Abs() - within; {
	case off > clockWrong:
		return one(Fault, remedy, "%s", text)
	case off > clockOff:
		return one(Warning, remedy, "%s", text)
	}
	return fine("%s", text)
}

func judgeSessions(v db.Sessions) []Finding {
	found := fine("%d of %d are in use", v.Open, v.Most)
	if free := v.Most - v.Reserved - v.Open; free < db.PoolConnsDefault {
		found = one(Warning,
			fmt.Sprintf("Give each process fewer (pool_max_conns=8 in DATABASE_URL), or raise the limit: "+
				"ALTER SYSTEM SET max_connections = %d; then restart Postgres.", v.Most*2),
			"%d of %d are in use: another worker needs up to %d", v.Open, v.Most, db.PoolConnsDefault)
	}
	if v.Longest > time.Hour {
		found = append(found, one(Warning,
			fmt.Sprintf("Inspect it (SELECT * FROM pg_stat_activity WHERE pid = %d), and end it: SELECT pg_terminate_backend(%d).", v.Pid,
				v.Pid),
			"a transaction has been open for %s, and vacuum cannot remove dead rows", explain.Roughly(v.Longest))...)
	}
	return found
}

// Statistics are stale if more rows changed since the last analysis than the table has.
const staleLeast = 10_000

func stale(t db.TableState) bool {
	return !t.Seldom && (t.Modified > staleLeast && t.Modified > t.Live || !t.Analyzed && t.Live > staleLeast)
}

func judgeStatistics(tables []db.TableState) (found []Finding) {
	for _, t := range tables {
		if !stale(t) {
			continue
		}
		what := fmt.Sprintf("%s has %d rows and was never analyzed", t.Name, t.Live)
		if t.Analyzed {
			what = fmt.Sprintf("%s has %d rows, of which %d have changed since it was analyzed", t.Name, t.Live, t.Modified)
		}
		found = append(found, one(Warning, "Run mosey doctor --only statistics --repair, or ANALYZE "+t.Name+".", "%s", what)...)
	}
	return orFine(found, "the statistics of %d tables are up to date", len(tables))
}

func repairStatistics(ctx context.Context, p *Patient) (string, error) {
	tables, err := p.Store.Tables(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range tables {
		if stale(t) {
			names = append(names, t.Name)
		}
	}
	// only the owner of a table may analyze it, not a worker's role
	err = wiring.AsOwner(ctx, p.DatabaseURL, func(owner *db.Store) error { return owner.Analyze(ctx, names) })
	return "analyzed " + named(names), err
}

// Dead rows are too many if they exceed half the live rows.
const deadLeast = 50_000

func judgeBloat(tables []db.TableState) (found []Finding) {
	for _, t := range tables {
		if t.Dead > deadLeast && t.Dead > t.Live/2 {
			found = append(found, one(Warning, "VACUUM (ANALYZE) "+t.Name+"; and check that no transaction is open for hours.",
				"%s has %d dead rows, and %d live rows", t.Name, t.Dead, t.Live)...)
		}
	}
	return orFine(found, "no table has many dead rows")
}

// An index is reported as unused from this size and after this time.
const (
	unusedBytes = 16 << 20
	unusedSpan  = 14 * 24 * time.Hour
)

func judgeIndexes(all []db.IndexState) (found []Finding) {
	for _, i := range all {
		switch {
		case !i.Valid:
			found = append(found, one(Fault, "REINDEX INDEX CONCURRENTLY "+i.Name+".",
				"%s of %s is invalid: Postgres does not use it", i.Name, i.Table)...)
		case i.Scans == 0 && !i.Unique && i.Bytes > unusedBytes && time.Since(i.Since) > unusedSpan:
			found = append(found, one(Note, "Keep it: it serves a rare query of Mosey.",
				"no query has used %s of %s, with %s, since %s", i.Name, i.Table, explain.Size(i.Bytes), explain.Stamp(i.Since))...)
		}
	}
	return orFine(found, "all %d indexes are valid", len(all))
}

// Postgres refuses changes three million transactions before two billion.
const ageWrong = 1_500_000_000

func lookAge(ctx context.Context, store *db.Store) ([]Finding, error) {
	age, freeze, err := store.Age(ctx)
	if err != nil {
		return nil, err
	}
	return judgeAge(age, freeze), nil
}

func judgeAge(age, freeze int64) []Finding {
	const remedy = "VACUUM (FREEZE), and check that autovacuum is on and no transaction or replication slot holds old rows."
	switch {
	case age > ageWrong:
		return one(Fault, remedy, "the oldest row is %d transactions old: at two billion Postgres stops", age)
	case age > freeze*3/2:
		return one(Warning, remedy, "the oldest row is %d transactions old, and rows should be frozen at %d", age, freeze)
	}
	return fine("the oldest row is %d transactions old", age)
}

const (
	workersLooked = 1000
	workersNamed  = 3
	// workerSilent is the least silence reported. Workers renew their rows every ten seconds.
	workerSilent = 2 * time.Minute
)

// lookFleet checks for dead workers without a replacement, and for a limit that is too low.
func lookFleet(ctx context.Context, store *db.Store) ([]Finding, error) {
	fleet, err := store.Fleet(ctx, false, workersLooked)
	if err != nil {
		return nil, err
	}
	use, err := store.FleetUse(ctx)
	if err != nil {
		return nil, err
	}
	var silent []string
	works := 0
	for _, w := range fleet.Workers {
		if fleet.Now.Sub(w.SeenAt) < workerSilent {
			works++
			continue
		}
		silent = append(silent, w.Identity+" since "+explain.Stamp(w.SeenAt))
	}
	var found []Finding
	if len(silent) > 0 {
		found = append(found, one(Note,
			"If such a worker still runs, its log shows why it does not reach the database: it begins no requests. "+
				"Otherwise no action is needed: other workers have taken over.",
			"%s silent: %s", explain.Count(int64(len(silent)), "worker"), strings.Join(silent[:min(len(silent), workersNamed)], "; "))...)
	}
	if use.Full() {
		found = append(found, one(Note, "Raise the limit if machines and network allow it: mosey workers --max-fetches N, or 0 for no limit.",
			"%s", explain.Limited(use))...)
	}
	return orFine(found, "%s", explain.Count(int64(works), "worker")), nil
}

const forgottenMost = 1_000

func lookForgotten(ctx context.Context, store *db.Store) ([]Finding, error) {
	open, err := store.HalfForgotten(ctx, forgottenMost)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return fine("all content ordered to be erased is erased"), nil
	}
	var names, commands []string
	for _, f := range open {
		names = append(names, fmt.Sprintf("%s since %s", f.Domain, explain.Stamp(f.AskedAt)))
		commands = append(commands, fmt.Sprintf("mosey block %s --reason TEXT --forget", f.Domain))
	}
	return one(Fault, "Unless it still runs, give the command again: "+strings.Join(commands[:min(len(commands), examplesMost)], "; ")+".",
		"the content of %s is not fully erased: %s", explain.Count(int64(len(open)), "domain"), named(names)), nil
}
