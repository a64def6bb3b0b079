package decide_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

// FuzzDecide decides from any document that the database could hand out, and
// checks the promises that no decision may break.
func FuzzDecide(f *testing.F) {
	for _, change := range []func(*decide.Facts){
		func(*decide.Facts) {},
		func(f *decide.Facts) { f.Domain.SlotFree = now.Add(time.Second) },
		func(f *decide.Facts) { page(f).Robots = nil },
		func(f *decide.Facts) { run(f).Attempt, run(f).Due = nil, now },
		func(f *decide.Facts) {
			f.Domain.Controls = crawl.Controls{control(crawl.ControlPause, "", now.Add(time.Hour))}
		},
	} {
		doc, err := json.Marshal(facts(change).Facts)
		require.NoError(f, err)
		f.Add(doc, true, true, "", int64(0))
	}
	f.Fuzz(func(t *testing.T, doc []byte, allowed, tdm bool, window string, age int64) {
		var stored crawl.Facts
		if json.Unmarshal(doc, &stored) != nil {
			return
		}
		for i := range stored.Runs {
			var set settings.Settings
			// what cannot be read or is not valid is never stored
			if json.Unmarshal(stored.Runs[i].SettingsDocument, &set) == nil && set.Validate() == nil {
				stored.Runs[i].Settings = set
			}
			stored.Runs[i].Settings = stored.Runs[i].Settings.WithDefaults()
		}
		in := decide.Facts{Facts: stored, Agent: "mosey", Ruling: &decide.Ruling{Allowed: allowed, TDMAllowed: tdm}}
		if w, err := politeness.ParseWindows(window); err == nil {
			in.Windows = []politeness.Windows{w}
		}
		at := now.Add(time.Duration(age))
		d := decide.Decide(in, at)
		require.Equal(t, d, decide.Decide(in, at), "the same facts, the same decision")
		requirePromises(t, in, at, d)
		decide.Attempt(in, at)
		decide.End(decide.Facts{Facts: stored}, "")
	})
}

// requirePromises checks a decision against what the facts alone forbid.
func requirePromises(t *testing.T, f decide.Facts, at time.Time, d decide.Decision) {
	t.Helper()
	_, forbidden := f.Domain.Controls.FirstForbidding(at)
	switch d.Action {
	case decide.Request, decide.Probe:
		require.False(t, f.Domain.SlotFree.After(at), "before the slot is free")
		require.NotNil(t, d.Attempt.Robots, "before robots.txt")
		require.True(t, d.Attempt.Robots.ExpiresAt.After(at), "by an expired robots.txt")
		require.True(t, f.Ruling.Allowed, "though robots.txt forbids it")
		require.Zero(t, politeness.WaitAll(at, f.Windows), "outside its window")
		require.False(t, d.Attempt.ScheduledFor.After(at), "before its time")
		fallthrough
	case decide.FetchPrerequisite, decide.Skip, decide.Refuse, decide.DeferOrigin, decide.DeferDomain:
		require.False(t, forbidden, "against a person's word")
		if f.Domain.Status == crawl.DomainBlocked || f.Domain.Status == crawl.DomainUnreachable {
			require.NotZero(t, f.Domain.DeferredUntil, "though it was given up for good")
		}
		require.False(t, f.Domain.DeferredUntil.After(at))
		require.NotNil(t, d.Attempt)
		require.False(t, decide.BudgetSpent(*d.Run), "beyond its budget")
	case decide.Wait:
		require.True(t, d.Until.After(at), "a wait that has ended would spin")
	case decide.Finish, decide.Done:
	default:
		require.Fail(t, "no decision", "%q", d.Action)
	}
}
