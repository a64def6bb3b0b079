package decide_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// TestRefusedPagesLeaveTheIndex checks that a refused page leaves the index only if a readable
// statement of its publisher demands that.
func TestRefusedPagesLeaveTheIndex(t *testing.T) {
	t.Parallel()
	kept := usage.Usage{NoIndex: usage.SourceMetaRobots, NoAI: usage.SourceMetaRobots}
	data, err := json.Marshal(kept)
	require.NoError(t, err)
	read := func(f *decide.Facts) {
		page(f).Visit, page(f).Usage = crawl.Visit{At: now.AddDate(0, -2, 0)}, data
		run(f).Settings.Purpose, decideRobots(f).TDMKnown = new(settings.PurposeAITrain), true
	}
	says := func(said usage.Usage) func(*decide.Facts) {
		return func(f *decide.Facts) { f.Ruling.Usage = said }
	}
	disallowed := func(f *decide.Facts) { f.Ruling = &decide.Ruling{Line: 2, Rule: "Disallow: /a"} }
	for name, c := range map[string]struct {
		change []func(*decide.Facts)
		// both are false if the page stays in the index
		gone, forgotten bool
	}{
		"ByALineOfRobots":     {change: []func(*decide.Facts){read, disallowed}, gone: true},
		"ByARobotsThatIsHTML": {change: []func(*decide.Facts){read, func(f *decide.Facts) { decideRobots(f).Verdict = crawl.RobotsDisallowAll }}},
		"ByUse":               {change: []func(*decide.Facts){read, says(usage.Usage{TDMReserved: usage.SourceFileTDM})}, forgotten: true},
		"ByATDMFileThatCannotBeRead": {
			change: []func(*decide.Facts){read, says(usage.Usage{TDMReserved: usage.SourceUnreadTDM})},
		},
		"ByUseAndSuchAFile": {change: []func(*decide.Facts){read, says(usage.Usage{
			TDMReserved: usage.SourceUnreadTDM, NoAI: usage.SourceHeader,
		})}, forgotten: true},
		"ThatWereNeverRead": {change: []func(*decide.Facts){disallowed}},
		"ThatAreImages": {change: []func(*decide.Facts){read, disallowed, func(f *decide.Facts) {
			page(f).Kind, run(f).Settings.Images = kinds.Image, new(settings.ImagesMetadata)
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decide.Attempt(facts(c.change...), now)
			require.Equal(t, decide.Refuse, d.Action, "%+v", d)
			at := decide.ClosingAttempt(d, "a.example", now)
			require.True(t, at.Page.Failed)
			require.Equal(t, c.gone || c.forgotten, at.Page.RemoveFromIndex)
			require.Equal(t, c.gone, at.Page.Outdated && at.AllLinks && at.AllSitemaps && at.AllImages)
			require.Equal(t, c.forgotten, at.LinksForbidden && at.ImagesForbidden && at.Page.Signals != nil)
			if c.forgotten {
				require.JSONEq(t, string(data), string(at.Page.Usage), "what the page said of its use stays")
				require.True(t, at.Page.NoIndex)
			}
		})
	}
}

func TestGoneFor(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{
		200: false, 301: false, 304: false, 401: true, 403: true, 404: true, 408: false, 410: true, 425: false, 429: false, 451: true,
		500: false, 503: false,
	} {
		require.Equal(t, want, decide.IsGone(crawl.Attempt{Outcome: crawl.OutcomeOfStatus(code), StatusCode: code}), code)
	}
	require.False(t, decide.IsGone(crawl.Attempt{Outcome: crawl.OutcomeTimeout, StatusCode: 404}), "its answer was not whole")
}
