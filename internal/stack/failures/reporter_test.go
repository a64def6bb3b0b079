package failures_test

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/failures"
)

// testBundle is a teller whose clock is set by hand.
type testBundle struct {
	*failures.Reporter

	out strings.Builder
	now time.Time
}

func setup() *testBundle {
	b := &testBundle{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.Reporter = &failures.Reporter{
		Logger: slog.New(slog.NewTextHandler(&b.out, nil)), Server: "Postgres", File: "/data/postgres.log",
		Now: func() time.Time { return b.now },
	}
	return b
}

func (b *testBundle) lines() int { return strings.Count(b.out.String(), "\n") }

func TestTell(t *testing.T) {
	t.Parallel()

	t.Run("OnceAndThenOnceAnHour", func(t *testing.T) {
		t.Parallel()
		b := setup()
		for i := range 100 {
			b.Report(`could not write to file "base/5/` + strconv.Itoa(i) + `": Input/output error`)
		}
		require.Equal(t, 1, b.lines(), b.out.String())
		require.Contains(t, b.out.String(), `level=ERROR msg="an embedded server reports an error; see its log" `+
			`server=Postgres error="could not write to file \"base/5/0\": Input/output error" file=/data/postgres.log`+"\n")
		b.now = b.now.Add(failures.RepeatInterval)
		b.Report(`could not write to file "base/5/7": Input/output error`)
		b.Report(`could not write to file "base/5/8": Input/output error`)
		require.Equal(t, 2, b.lines(), b.out.String())
		require.Contains(t, b.out.String(), "times=100")
	})

	t.Run("EachKind", func(t *testing.T) {
		t.Parallel()
		b := setup()
		b.Report("could not read")
		b.Report("could not write")
		require.Equal(t, 2, b.lines(), b.out.String())
	})

	t.Run("IsBounded", func(t *testing.T) {
		t.Parallel()
		b := setup()
		for i := range 1000 {
			b.Report("failure of " + strings.Repeat("x", i+1))
		}
		require.Equal(t, 21, b.lines())
		b = setup()
		b.Report("\x1b[2J\nlevel=INFO " + strings.Repeat("x", 1000))
		require.Equal(t, 1, b.lines())
		require.NotContains(t, b.out.String(), "\x1b")
		require.Less(t, b.out.Len(), 700)
	})
}
