package workflows_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/workflows"
)

// payloadMax is the largest allowed payload; see the design.
const payloadMax = 4 << 10

// The largest values of the fields. "&" is the worst character of a URL, because JSON writes it in
// six bytes.
const (
	domainMax = 253
	reasonMax = 200
	runsMax   = 10
	// shownMax is the length to which activities cut URLs for display.
	shownMax = 300
	// robotsMax is the largest size of a robots.txt location in JSON.
	robotsMax = urls.MaxLength
	// askedMax and errorMax are the lengths to which activities cut a request and an error, as
	// JSON.
	askedMax, errorMax = 300, 150

	longest = settings.Duration(settings.DelayMax + 999999999)
)

func TestPayloadsStaySmall(t *testing.T) {
	t.Parallel()

	name := strings.Repeat("d", domainMax)
	origin := "https://" + name + ":65535"
	shown := origin + "/?" + strings.Repeat("&", shownMax-len(origin)-2)
	robots := "https://example.org/?" + strings.Repeat("a", robotsMax-21)
	control := strings.Repeat("\x01", reasonMax)
	run := strings.Repeat("r", crawl.RunNameMax)
	runs := make([]string, runsMax)
	for i := range runs {
		runs[i] = run
	}
	until := time.Now().Add(time.Duration(longest))
	set := crawl.Control{
		Type: crawl.ControlBudget, Value: json.RawMessage("-9223372036854775808"), Reason: control,
		SetBy: "a workflow update", SetAt: until, Until: until,
	}
	asked := activities.RequestSummary{
		URL: strings.Repeat("a", askedMax), Kind: kinds.Sitemap, Outcome: crawl.OutcomeBlockedRobots, Status: 599,
		Error: strings.Repeat("e", errorMax),
	}
	domain := activities.DomainSummary{
		Delay: longest, Reason: reasons.Robots, Robots: crawl.RobotsDisallowAll,
		Health: politeness.Describe(crawl.Health{
			Samples: []crawl.Sample{{Duration: longest}}, Slowdown: longest, Penalty: longest, Graylistings: 1e9, AbandonedCount: 1e9, Probing: true,
		}),
	}
	pending := activities.Pending{Requests: 100, HasMore: true}
	outcomes, total := map[crawl.Outcome]int{}, map[crawl.Outcome]int64{}
	for _, o := range crawl.Outcomes() {
		outcomes[o], total[o] = 1e9, 1e15
	}
	for _, v := range []any{
		activities.FetchPagesInput{Domain: name, MaxPages: settings.PagesPerActivityMax, Auto: true, Queued: true},
		activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepRobots, Origin: shown, Kind: kinds.Robots, Wait: longest, Reason: reasons.Robots, Defer: true, Queued: true},
			Closed:   1e9, Outcomes: outcomes, LastRequest: asked, Summary: domain, Pending: &pending, Runs: runs,
		},
		activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepRobots, Origin: origin, Kind: kinds.Robots, Wait: longest, Reason: reasons.Robots, URL: robots, Hops: 5, Queued: true},
			Closed:   1e9, Outcomes: outcomes, Runs: runs, // no room for what is only for people
		},
		activities.FetchRobotsInput{Domain: name, Origin: origin, Kind: kinds.Robots, URL: robots, Hops: 5, Queued: true},
		activities.FetchRobotsResult{
			Wait: longest, Reason: reasons.Robots, Kind: kinds.Robots, URL: robots, Hops: 5, Queued: true, Request: asked,
		},
		activities.FinishDomainInput{Domain: name, Defer: true, Wait: longest, Reason: string(reasons.Robots)},
		activities.FinishDomainResult{Finished: true},
		activities.SetControlInput{Domain: name, Control: set},
		activities.LiftControlInput{Domain: name, Kinds: []crawl.ControlType{crawl.ControlPause}, By: "a workflow update"},
		activities.AddURLsResult{Added: 20},
		activities.DispatchInput{Run: run},
		activities.DispatchResult{
			Started: 1e6, Failed: 1e6, Active: 1e6, Ended: true, Reason: strings.Repeat("x", reasonMax), NextIn: longest,
		},
		activities.StartCrawlInput{Run: run},
		activities.FilterSeedsInput{Run: run},
		workflows.SeedResult{
			StoreSeedsResult:  activities.StoreSeedsResult{Added: 1e9, Known: 1e9, Refused: 1e9, Example: control},
			FilterSeedsResult: activities.FilterSeedsResult{Disallowed: 1e9},
		},
		activities.StopRunInput{Run: run, Reason: control},
		workflows.Wake{PagesPerActivity: settings.PagesPerActivityMax},
		workflows.Pause{Reason: control, Until: &until},
		workflows.Stop{Reason: control},
		workflows.DomainInput{Domain: name, PagesPerActivity: settings.PagesPerActivityMax, State: workflows.Carried(workflows.DomainState{
			NextStep: activities.NextStep{Next: activities.StepRobots, Wait: longest, Reason: reasons.Robots, Defer: true, URL: robots, Origin: origin, Kind: kinds.Robots, Hops: 5, Queued: true},
			Closed:   1 << 62, Outcomes: total, LastRequest: asked, Summary: domain, Pending: &pending, CountedAt: until,
			Runs: runs, Status: workflows.StatusGraylisted,
		})},
	} {
		t.Run(reflect.TypeOf(v).String(), func(t *testing.T) {
			t.Parallel()
			p, err := converter.GetDefaultDataConverter().ToPayload(v)
			require.NoError(t, err)
			require.Less(t, len(p.GetData()), payloadMax)
		})
	}
}

func TestAddURLsPayloadStaysSmall(t *testing.T) {
	t.Parallel()
	name := strings.Repeat(strings.Repeat("d", 49)+".", 5) + "org" // as long as a name may be
	// URLs of one kind of character, as many and as long as are accepted
	for _, filler := range []string{"a", "&", "<", `\`, "é", "\x7f"} {
		t.Run(filler, func(t *testing.T) {
			t.Parallel()
			accepted := 0
			for count := 1; count <= 20; count++ {
				for length := 1; length < 1700; length += 13 {
					seeds := make([]string, count)
					for i := range seeds {
						seeds[i] = "https://" + name + "/?" + strings.Repeat(filler, length/len(filler))
					}
					add := workflows.AddURLs{Run: strings.Repeat("r", crawl.RunNameMax), URLs: seeds}
					if workflows.ValidateAddURLs(add, name) != nil {
						continue
					}
					accepted++
					data, err := json.Marshal(activities.AddURLsInput{Domain: name, Run: add.Run, URLs: add.URLs})
					require.NoError(t, err)
					require.Less(t, len(data), payloadMax)
				}
			}
			require.Positive(t, accepted)
		})
	}
}

// What a workflow hands over must arrive whole.
func TestDomainStateSurvivesJSON(t *testing.T) {
	t.Parallel()
	state := workflows.DomainState{
		NextStep: activities.NextStep{Next: activities.StepRobots, Wait: settings.Duration(time.Minute + time.Nanosecond), Reason: reasons.IP, URL: page, Defer: true, Origin: "https://example.org", Kind: kinds.TDM, Hops: 3, Queued: true},
		Closed:   1 << 60, Outcomes: map[crawl.Outcome]int64{crawl.OutcomeSuccess: 1 << 59}, Runs: []string{"<small> & “web”", runName},
		LastRequest: activities.RequestSummary{URL: page, Kind: kinds.TDM, Outcome: crawl.OutcomeFailed, Status: 1, Error: "<é>"},
		Summary:     activities.DomainSummary{Delay: settings.Duration(time.Second), Reason: reasons.IP, Robots: crawl.RobotsRules, Health: "well"},
		Pending:     &activities.Pending{Requests: 100, HasMore: true}, CountedAt: time.Date(2026, 11, 25, 1, 2, 3, 4, time.UTC),
		Status: workflows.StatusWaiting, Backoff: settings.Duration(time.Minute),
	}
	for _, v := range reflect.ValueOf(state).Fields() {
		require.False(t, v.IsZero(), "set every field")
	}
	in := workflows.DomainInput{Domain: host, PagesPerActivity: 5, State: state}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	var out workflows.DomainInput
	require.NoError(t, json.Unmarshal(data, &out))
	require.Equal(t, in, out)
}
