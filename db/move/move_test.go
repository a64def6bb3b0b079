package move_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbtest"
	"github.com/mosey-web/mosey/db/move"
)

// pair is a database with rows in all tables, and an empty one to move it to.
type pair struct {
	from, to       *move.Database
	source, target *pgxpool.Pool
	fromURL, toURL string
}

func newPair(t *testing.T, rows int) *pair {
	t.Helper()
	p := &pair{fromURL: dbtest.URL(t), toURL: dbtest.URL(t)}
	p.from, p.to = open(t, p.fromURL), open(t, p.toURL)
	p.source, p.target = p.from.Store().Pool(), p.to.Store().Pool()
	fill(t, p.source, rows)
	return p
}

func open(t *testing.T, url string) *move.Database {
	t.Helper()
	d, err := move.Open(t.Context(), url, "")
	require.NoError(t, err)
	t.Cleanup(d.Disconnect)
	return d
}

// copy moves all but the last two steps.
func (p *pair) copy(t *testing.T) move.State {
	t.Helper()
	state, err := p.try(t, t.Context(), func(move.Progress) {})
	require.NoError(t, err)
	return state
}

func (p *pair) try(t *testing.T, ctx context.Context, tell func(move.Progress)) (move.State, error) { //nolint:revive // it may end before the test
	t.Helper()
	require.NoError(t, p.to.CheckTarget(t.Context(), p.from))
	state, err := p.from.Close(t.Context(), p.to.Name, "test")
	require.NoError(t, err)
	require.NoError(t, p.from.Seal(t.Context()))
	_, err = move.Copy(ctx, p.from, p.to, state, "test", tell)
	return state, err
}

func arriving(s move.State) move.State {
	s.Step = move.Arriving
	return s
}

// write is a change that any open database takes.
func write(t *testing.T, pool *pgxpool.Pool) error {
	t.Helper()
	_, err := pool.Exec(t.Context(), "INSERT INTO registered_domains (domain, registered) VALUES (gen_random_uuid()::text, 'x') ")
	return err
}

func TestMove(t *testing.T) {
	t.Parallel()

	t.Run("MovesEveryRowOfEveryTable", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 300)
		was, want := sums(t, p.source), layout(t, p.target)
		for table, sum := range was {
			require.NotEqual(t, '0', rune(sum[0]), "table %s is empty: fill it", table)
		}
		tables, err := p.from.Tables(t.Context())
		require.NoError(t, err)
		for _, name := range tableNames(t, p.source) {
			has := false
			for _, table := range tables {
				has = has || table.Name == name
			}
			require.NotEqual(t, notMoved[name] != "", has, "is table %s moved?", name)
		}
		state := p.copy(t)
		require.Equal(t, was, sums(t, p.source))
		// slots go to the clock of the target
		require.Equal(t, sums(t, p.source, "politeness_slots"), sums(t, p.target, "politeness_slots"))
		require.Equal(t, slots(t, p.source), slots(t, p.target))
		require.Equal(t, sequences(t, p.source), sequences(t, p.target))
		require.NoError(t, p.from.Leave(t.Context(), state))
		require.NoError(t, p.to.Reopen(t.Context(), arriving(state)))
		require.Equal(t, want, layout(t, p.target))
		require.NoError(t, write(t, p.target))
	})

	t.Run("NeverAreBothOpen", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 3)
		state := p.copy(t)
		require.ErrorContains(t, write(t, p.source), "this database is being moved to "+p.to.Name)
		require.ErrorContains(t, write(t, p.target), "this database is being filled from "+p.from.Name)
		require.Error(t, p.to.Reopen(t.Context(), state), "that is the state of the source")
		require.NoError(t, p.from.Leave(t.Context(), state))
		require.ErrorContains(t, write(t, p.source), "this database was moved to "+p.to.Name)
		require.ErrorContains(t, write(t, p.target), "is being filled")
		require.Error(t, p.from.Reopen(t.Context(), state), "it was left meanwhile")
		require.ErrorContains(t, write(t, p.source), "this database was moved to "+p.to.Name)
		require.NoError(t, p.to.Reopen(t.Context(), arriving(state)))
		require.ErrorContains(t, write(t, p.source), "this database was moved to "+p.to.Name)
		require.NoError(t, write(t, p.target))
		require.ErrorIs(t, p.from.CheckTarget(t.Context(), p.to), crawl.ErrInvalid)
		require.ErrorIs(t, p.to.CheckTarget(t.Context(), p.from), crawl.ErrInvalid)
	})

	t.Run("ACopyThatWasGivenUpIsNeverOpened", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 3)
		state := p.copy(t)
		require.NoError(t, p.from.Leave(t.Context(), state))
		require.NoError(t, p.to.GiveUp(t.Context(), state))
		moved := state
		moved.Step = move.Moved
		require.NoError(t, p.from.Reopen(t.Context(), moved))
		require.NoError(t, write(t, p.source))
		require.Error(t, p.to.Reopen(t.Context(), arriving(state)))
		require.ErrorContains(t, write(t, p.target), "was given up")
		// but it may be filled anew
		state = p.copy(t)
		require.NoError(t, p.from.Leave(t.Context(), state))
		require.NoError(t, p.to.Reopen(t.Context(), arriving(state)))
		require.Equal(t, sums(t, p.source, "politeness_slots"), sums(t, p.target, "politeness_slots"))
	})

	t.Run("ACopyIsFilledAnewByItsOwnSourceAlone", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 3)
		p.copy(t)
		other := open(t, dbtest.URL(t))
		_, err := other.Store().Pool().Exec(t.Context(), "UPDATE database_identity SET identity = gen_random_uuid()")
		require.NoError(t, err)
		state := p.copy(t)
		require.NoError(t, p.from.Leave(t.Context(), state))
		err = p.to.CheckTarget(t.Context(), other)
		require.ErrorIs(t, err, crawl.ErrInvalid)
		require.ErrorContains(t, err, "is being filled from "+p.from.Name)
		require.NoError(t, p.to.GiveUp(t.Context(), state))
		require.NoError(t, p.to.CheckTarget(t.Context(), other))
	})

	t.Run("OneAtATime", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 1)
		require.NoError(t, p.from.Take(t.Context()))
		again, err := move.Open(t.Context(), p.fromURL, "")
		require.NoError(t, err)
		defer again.Disconnect()
		require.ErrorContains(t, again.Take(t.Context()), "another mosey move works on it")
	})

	t.Run("RefusesATargetWithACrawl", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 1)
		other := newPair(t, 1)
		require.ErrorContains(t, other.from.CheckTarget(t.Context(), p.from), "holds data already (table crawl_runs)")
		require.NoError(t, p.from.CheckSource(t.Context()))
		bare := open(t, dbtest.Bare(t))
		require.ErrorContains(t, bare.CheckSource(t.Context()), "no database of Mosey's there")
		reader := open(t, dbtest.Login(t, p.fromURL, "mosey_worker"))
		require.ErrorContains(t, reader.CheckSource(t.Context()), "does not own Mosey's tables")
	})

	t.Run("RefusesTablesThatDiffer", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, 1)
		_, err := p.source.Exec(t.Context(), "ALTER TABLE pages ADD COLUMN mine text")
		require.NoError(t, err)
		_, err = p.try(t, t.Context(), func(move.Progress) {})
		require.ErrorContains(t, err, "the target lacks pages.mine text")
	})
}

// TestKilled ends a copy at each of its steps: the target stays as it was, and a later copy
// begins anew.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := newPair(t, 50)
	want := layout(t, p.target)
	var steps []string
	ended := 0
	for n := 1; ; n += 11 {
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		_, err := p.try(t, ctx, func(now move.Progress) {
			if told++; told == n {
				steps = append(steps, now.Doing)
				cancel()
			}
		})
		cancel()
		if err == nil {
			break
		}
		ended++
		p.to.Disconnect()
		p.to = open(t, p.toURL)
		p.target = p.to.Store().Pool()
		p.from.Disconnect()
		p.from = open(t, p.fromURL)
		p.source = p.from.Store().Pool()
		if steps[len(steps)-1] == "statistics" {
			break // all is there
		}
		require.Equal(t, want, layout(t, p.target), "ended at %s", steps[len(steps)-1])
	}
	require.Greater(t, ended, 5)
	t.Logf("ended at %q", steps)
	state := p.copy(t)
	require.NoError(t, p.from.Leave(t.Context(), state))
	require.NoError(t, p.to.Reopen(t.Context(), arriving(state)))
	require.Equal(t, want, layout(t, p.target))
	require.Equal(t, sums(t, p.source, "politeness_slots"), sums(t, p.target, "politeness_slots"))
}

// TestRequests shows that a source that is being closed grants no lease, and lets those end that
// it has granted.
func TestRequests(t *testing.T) {
	t.Parallel()
	p := newPair(t, 1)
	take := func(domain string) error {
		var granted bool
		err := p.source.QueryRow(t.Context(), "SELECT granted FROM slot_take($1, '{}', '{}', 'crawl:1', 60000, 60000, false)", domain).Scan(&granted)
		if err == nil && !granted {
			err = fmt.Errorf("%s: not granted", domain)
		}
		return err
	}
	require.NoError(t, take("a.example"))
	_, err := p.from.Close(t.Context(), "elsewhere", "test")
	require.NoError(t, err)
	require.ErrorContains(t, take("b.example"), "this database is being moved to elsewhere")
	left, err := p.from.Settle(t.Context(), 0, func(int64) {})
	require.NoError(t, err)
	require.Equal(t, int64(1), left)
	told := false
	left, err = p.from.Settle(t.Context(), time.Minute, func(n int64) {
		if told {
			return
		}
		told = true
		require.Equal(t, int64(1), n)
		_, err := p.source.Exec(t.Context(), "SELECT slot_undo('a.example', '{}', 'crawl:1', 1000, '{}')")
		require.NoError(t, err)
	})
	require.NoError(t, err)
	require.Zero(t, left)
	require.NoError(t, p.from.Seal(t.Context()))
	require.ErrorContains(t, write(t, p.source), "this database is being moved to elsewhere")
	state, err := p.from.Look(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.from.Reopen(t.Context(), state))
	require.NoError(t, take("b.example"))
	require.NoError(t, write(t, p.source))
}

// slots are the slots without their instants.
func slots(t *testing.T, pool *pgxpool.Pool) (text string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT string_agg(concat_ws(' ', key, holder, reason, strict_ms), ', ' ORDER BY key) FROM politeness_slots").Scan(&text))
	require.NotEmpty(t, text)
	return text
}

func sequences(t *testing.T, pool *pgxpool.Pool) (text string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT string_agg(sequencename || ' ' || coalesce(last_value, 0), ', ' ORDER BY 1)
		FROM (SELECT * FROM pg_sequences WHERE schemaname = 'public' AND sequencename NOT LIKE 'goose%') x`).Scan(&text))
	require.Contains(t, text, "100")
	return text
}
