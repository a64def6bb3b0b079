package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fault is a sequence that showed a fault: a row of the table in issue 22, and the symptom.
type fault struct {
	row   int
	name  string
	steps string
	seen  string
}

// faults lists the faults that the model has found, each shrunk to the necessary steps.
var faults = []fault{
	{1, "RecrawlOfARunThatIsDone", `seed r0 d0/; run; seed r0 when_done=recrawl`, "never asked for again"},
	{1, "RecrawlOffAndOn", `seed r0 d0/ when_done=recrawl; run; set r0 when_done=end; recrawl r0 1h; time 2h; run; set r0 when_done=recrawl; run; seed r0`, "never asked for again"},
	{2, "ShorterPauseAfterOneWithoutEnd", `seed r0 d0/; pause d0; run; pause d0 20s; time 1m`, "though d0 is due"},
	{2, "ShorterPauseAfterALonger", `seed r0 d0/; pause d0 2h; run; pause d0 20s; time 1m`, "d0 is due"},
	{3, "SmallRunBesideABigOne", `seed r0 d0/ d0/a max_pages=2 delay=10s; seed r1 d0/ d0/a d0/b d0/c d0/e delay=10s; run; time 1m; run; time 1m; run;
		time 1m; run; time 1m; run; time 1m; run; time 1m; run; time 1m; run; time 1m; run`, "does not end"},
	{4, "TimeCountsFromTheSeeding", `stage r0 d0/; run; time 2m; seed r0 max_time=1m; run`, "time of run r0 is over"},
	{5, "YieldsToItself", `seed r0 d0/ d1/ d0/a d1/a max_active_domains=1 yield_after=1; seed r1 d0/ d0/a; run; run`, "without a request"},
	{6, "ResumeWhileAway", `seed r0 d0/; work 0; pause r0; run; away; resume r0; back`, "nobody asks"},
	{6, "SetWhileAway", `seed r0 d0/ d0/a max_pages_per_domain=1 when_done=wait; run; away; set r0 max_pages_per_domain=-1; back`, "nobody asks"},
	{6, "UnblockWhileAway", `seed r0 d0/ when_done=wait; block d0; run; away; unblock d0; back`, "nobody asks"},
	{6, "WindowOpensWhileAway", `seed r0 d0/; window d0 closed; run; away; window d0 open; back`, "nobody asks"},
	{6, "StopWhileAway", `seed r0 d0/ when_done=wait; run; away; stop r0; back`, "lives on"},
	{7, "TwoRecrawlsOfOnePage", `seed r0 d0/ when_done=recrawl; run; seed r1 d0/ when_done=recrawl; run; stop r1`, "never asked for again"},
	{8, "ImageWhereThePagesAreSpent", `seed r0 d1/ d1/a max_pages_per_domain=1 images=metadata when_done=wait; run; seed r0 d0/b; run`, "nobody asks"},
	{8, "ImageAgainWhereThePagesAreSpent", `web 199; seed r1 d0/ d2/a when_done=recrawl images=metadata; work 2; set r1 max_pages=3`, "nobody asks"},
	{9, "RecrawlTriedAgain", `seed r0 d0/; run; time 2h; recrawl r0 1h; twice; run; time 4m; run`, "was to go on"},
	{10, "ScheduleOfAStoppedRun", `seed r0 d0/ when_done=wait; run; stop r0; schedule r0 d0/a; run`, "want stopped"},
	{12, "RetryOfARecrawl", `seed r0 d0/ when_done=recrawl min_refetch=2000h; run; site d0 503; time 900h; run; site d0 ok; time 10m; run`, "skipped for min-refetch"},
	{12, "RecrawlUndone", `seed r0 d0/ when_done=recrawl min_refetch=2000h; run; site d0 local; time 900h; run; site d0 ok; time 10m; run`, "skipped for min-refetch"},
	{12, "RecrawlReaped", `seed r0 d0/ when_done=recrawl min_refetch=2000h; run; time 900h; kill; run; time 10m; run`, "skipped for min-refetch"},
	{12, "LastRecrawlReaped", `seed r0 d0/ when_done=recrawl max_attempts=1; run; time 900h; kill; run; time 10m; run`, "never asked for again"},
	{
		13, "ThreeHostsWithoutAName", `outage; seed r0 d0/ d1/ d2/; site d0 dnsfail; site d1 dnsfail; site d2 dnsfail; run; time 3m; run; time 3m; run; time 3m; run; time 3m; run; time 1m; run`,
		"cannot be reached",
	},
	{14, "HTTPMovesToHTTPS", `robots d0 https-reset; site d0 to-https; seed r0 d0; run; robots d0 ok; time 1h; run; time 2h; run`, "https://d0/"},
	{19, "ResumeOfARunWithWhatIsPausedAndStopped", `seed r0 d0/ delay=10s; run; stop d0; pause d0; time 1m; run; stop r0; resume r0`, "under stop"},
	{19, "RetryOfWhatIsPausedAndStopped", `seed r0 d0/; stop d0; pause d0; retry d0`, "under stop"},
	{
		20, "UndoneAfterFailures", `seed r0 d0/ max_attempts=4; run; site d0 503; seed r0 d0/x d0/y d0/z; run; time 3s; run; site d0 local; time 6s; run; time 1700ms; run`,
		"left alone",
	},
	{21, "PassedOverInAFurtherVisit", `web 214; seed r1 d0/ max_images_per_domain=1 images=metadata when_done=recrawl; run`, "visited again 10 times"},
}

// split is a fault's steps.
func (f fault) split() (steps []string) {
	for step := range strings.SplitSeq(f.steps, ";") {
		steps = append(steps, strings.Join(strings.Fields(step), " "))
	}
	return steps
}

// TestFaults are sequences that have found something once.
func TestFaults(t *testing.T) { //nolint:tparallel // its cases share a database
	t.Parallel()
	p := newPlace(t)
	for _, f := range faults { //nolint:paralleltest // they share a database
		t.Run(fmt.Sprintf("Row%d%s", f.row, f.name), func(t *testing.T) {
			var told []string
			wrong, _, err := p.try(f.split(), func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) })
			require.NoError(t, err)
			if len(wrong) > 0 || testing.Verbose() {
				t.Logf("%s\nit was once: %s", strings.Join(told, "\n"), f.seen)
			}
			require.Empty(t, wrong)
		})
	}
}
