package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// in is an instant so many minutes from now.
func in(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }

func runs(of ...crawl.RunFacts) []crawl.RunFacts {
	for i := range of {
		of[i].ID = int64(i + 1)
		of[i].Settings = of[i].Settings.WithDefaults()
	}
	return of
}

func due(minutes int) crawl.RunFacts {
	if minutes > 0 {
		return crawl.RunFacts{Due: in(minutes)}
	}
	return crawl.RunFacts{Attempt: &crawl.AttemptFacts{ID: 1, ScheduledFor: in(minutes)}}
}

func spent(r crawl.RunFacts) crawl.RunFacts {
	r.Spent = crawl.SpentPages
	return r
}

func locked(r crawl.RunFacts) crawl.RunFacts {
	r.LockedAt = in(-1)
	return r
}

func controls(kind crawl.ControlType, until time.Time) crawl.DomainFacts {
	return crawl.DomainFacts{Controls: crawl.Controls{{Type: kind, Until: until}}}
}

func TestEndOfADomain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		domain crawl.DomainFacts
		runs   []crawl.RunFacts
		// ends is false where the workflow has to stay
		ends bool
	}{
		"Nothing":           {ends: true},
		"Due":               {runs: runs(due(-5))},
		"Later":             {runs: runs(due(5), due(9)), ends: true},
		"OneDueOneLater":    {runs: runs(due(5), due(0))},
		"Spent":             {runs: runs(spent(due(0)), due(9)), ends: true},
		"InFlight":          {domain: crawl.DomainFacts{SlotFree: in(3), SlotReason: reasons.InFlight}, runs: runs(locked(crawl.RunFacts{}))},
		"InFlightAndSpent":  {domain: crawl.DomainFacts{SlotFree: in(3), SlotReason: reasons.InFlight}, runs: runs(locked(spent(due(0))))},
		"Abandoned":         {runs: runs(locked(due(0)))},
		"Paused":            {domain: controls(crawl.ControlPause, time.Time{}), runs: runs(due(0)), ends: true},
		"PausedUntil":       {domain: controls(crawl.ControlPause, in(7)), runs: runs(due(0), due(9)), ends: true},
		"PauseIsOver":       {domain: controls(crawl.ControlPause, in(-1)), runs: runs(due(0))},
		"PausedAndInFlight": {domain: controls(crawl.ControlPause, time.Time{}), runs: runs(locked(due(0))), ends: true},
		"Unreachable":       {domain: crawl.DomainFacts{Status: crawl.DomainUnreachable}, runs: runs(due(0)), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := decide.Facts{Facts: crawl.Facts{Now: now, Domain: c.domain, Runs: c.runs}}
			end, ends := decide.End(f, "because")
			require.Equal(t, c.ends, ends)
			if ends {
				require.Equal(t, crawl.Finish{Reason: "because"}, end)
			}
			// what the one asks for, the other allows
			if decide.Decide(f, now).Action == decide.Finish {
				require.True(t, ends)
			}
		})
	}
}

func TestDeferralOutlastsTheEnd(t *testing.T) {
	t.Parallel()
	f := decide.Facts{Facts: crawl.Facts{Now: now, Runs: runs(due(0), due(200))}}
	want := crawl.Finish{DeferredUntil: in(60), Reason: "retry-after"}
	require.Equal(t, want, decide.Deferral(f.Facts, time.Hour, "retry-after"))
	f.Domain.DeferredUntil, f.Domain.Reason = in(60), "retry-after"
	end, ends := decide.End(f, "no page is due")
	require.True(t, ends)
	require.Equal(t, want, end)
	f.Domain.DeferredUntil = in(-1)
	_, ends = decide.End(f, "")
	require.False(t, ends, "a deferral that is over")
}

func TestYields(t *testing.T) {
	t.Parallel()
	f := decide.Facts{Facts: crawl.Facts{Now: now, Runs: runs(due(0))}}
	r := &f.Runs[0]
	r.Settings.YieldAfter, r.Name = new(int64(10)), "small-web"
	r.HasWaitingDomains, r.StartedAtClaim, r.DomainStarted = true, 100, 109
	require.False(t, decide.Yields(*r))
	r.DomainStarted = 110
	require.True(t, decide.Yields(*r))

	d := decide.Decide(f, now)
	require.Equal(t, decide.Finish, d.Action)
	require.Equal(t, reasons.Yields, d.Reason)
	require.Equal(t, "the domain yields after 10 requests, because other domains of run small-web wait", d.Explanation)
	end, ends := decide.End(f, "yielded")
	require.True(t, ends)
	require.Equal(t, crawl.Finish{Reason: "yielded", YieldingRunIDs: []int64{1}}, end)

	other := due(0)
	other.Settings = other.Settings.WithDefaults()
	other.ID = 2
	f.Runs = append(f.Runs, other)
	require.EqualValues(t, 2, decide.Decide(f, now).Run.ID, "another run goes on there")
	_, ends = decide.End(f, "yielded")
	require.False(t, ends)
	f.Runs = f.Runs[:1]
	r = &f.Runs[0]

	r.LockedAt = in(-1)
	_, ends = decide.End(f, "yielded")
	require.False(t, ends, "its request is finished first")
	r.LockedAt = time.Time{}
	r.HasWaitingDomains = false
	require.False(t, decide.Yields(*r), "nobody waits")
	_, ends = decide.End(f, "yielded")
	require.False(t, ends)
	r.HasWaitingDomains, r.HasYielded, r.StartedAtClaim = true, true, r.DomainStarted
	require.True(t, decide.Yields(*r), "it has not had its turn since")
	r.HasWaitingDomains, r.Settings.YieldAfter = true, new(int64(0))
	require.False(t, decide.Yields(*r), "it is never to")
}

func TestBudgetsOfBytesAndTime(t *testing.T) {
	t.Parallel()
	set := settings.Settings{MaxTime: new(settings.Duration(time.Hour)), MaxBytes: new(int64(5))}.WithDefaults()
	require.Equal(t, "time limit of 1h0m0s reached (max_time)", decide.EndOfRun(set, crawl.RemainingWork{Pending: true, Budget: crawl.BudgetTime}))
	require.Equal(t, "limit of 5 bytes reached (max_bytes)", decide.EndOfRun(set, crawl.RemainingWork{Pending: true, Budget: crawl.BudgetBytes}))
	require.Equal(t, "complete", decide.EndOfRun(set, crawl.RemainingWork{Budget: crawl.BudgetTime}))
}

func TestPaceIsThatOfRunsThatMayGoOn(t *testing.T) {
	t.Parallel()
	slow, quick := due(0), due(0)
	slow.Settings.Delay, quick.Settings.Delay = new(settings.Duration(time.Hour)), new(settings.Duration(time.Minute))
	slow.Settings.Window, quick.Settings.Window = new("slow"), new("quick")
	f := crawl.Facts{Now: now, Runs: runs(slow, quick)}
	require.Equal(t, time.Hour, decide.PaceOf(f).Waits.Configured)
	require.Equal(t, []string{"slow", "quick"}, decide.WindowTexts(f))
	f.Runs = runs(spent(slow), quick)
	require.Equal(t, time.Minute, decide.PaceOf(f).Waits.Configured)
	require.Equal(t, []string{"quick"}, decide.WindowTexts(f))
	f.Runs = runs(spent(slow), spent(quick))
	require.Equal(t, time.Hour, decide.PaceOf(f).Waits.Configured, "a robots.txt may still be asked for")
}
