package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
)

// Overview is all runs, and how the whole stands.
type Overview struct {
	head

	// Runs are the latest, of All there are.
	Runs  []report.Progress `json:"runs"`
	All   int               `json:"all_runs"`
	Watch report.Watch      `json:"watch"`
	// CountedAt is when the first of the runs was counted; Counting says that one was not yet.
	CountedAt time.Time `json:"counted_at,omitzero"`
	Counting  bool      `json:"counting,omitempty"`
	// Gaps are those between requests that have ended in the last minute.
	Gaps Gaps `json:"gaps"`
	// Over is how attempts have ended over time.
	Over Over `json:"over"`
	// Outages are those of our own network.
	Outages []crawl.Outage `json:"outages,omitempty"`
}

// Gaps are gaps between requests to the same domain, address, subnet or registered domain.
type Gaps struct {
	Ended      int64 `json:"ended"`
	Violations int64 `json:"violations"`
	// Late is how late the request was on average that has ended one, and Latest at the most.
	Late   settings.Duration `json:"late_average"`
	Latest settings.Duration `json:"late_most"`
}

// gapsSpan is what Gaps looks back on.
const gapsSpan = time.Minute

func (s *Server) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	runs, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	v := &Overview{head: head{Now: s.Now()}, All: len(runs)}
	waiting, cancel := context.WithTimeout(ctx, firstWait) // for all of them together
	defer cancel()
	for _, run := range shownRuns(runs) {
		p, at, err := s.progress.of(waiting, run.Name, func(ctx context.Context) (report.Progress, error) {
			return s.Counts.Progress(ctx, run)
		})
		switch {
		case errors.Is(err, errCounting):
			v.Counting = true
		case err != nil:
			return nil, err
		}
		p.Run = run // which is as of now
		if v.CountedAt.IsZero() || at.Before(v.CountedAt) {
			v.CountedAt = at
		}
		v.Runs = append(v.Runs, p)
	}
	w, _, err := s.watch.of(ctx, "", s.look)
	if err != nil {
		return nil, err
	}
	v.Watch, v.Gaps = w.Watch, w.Gaps
	if v.Over, err = s.over(r, 0, "/outcomes.svg"); err != nil {
		return nil, err
	}
	if len(v.Runs) > 0 {
		v.Outages = v.Runs[0].Outages
	}
	v.Sentence = explain.Overall(v.Runs, v.Now)
	if v.Counting {
		v.Sentence = explain.Count(int64(len(runs)), "run") + ": what they do is being counted for the first time, which takes long here."
	}
	slices.Reverse(v.Runs) // the newest first
	return v, nil
}

// runsShown is how many runs the overview has.
const runsShown = 50

// shownRuns are those that are running and the latest of the others, the latest last.
func shownRuns(runs []crawl.Run) []crawl.Run {
	left := max(len(runs)-runsShown, 0) // as many are not shown
	return slices.DeleteFunc(slices.Clone(runs), func(r crawl.Run) bool {
		if left == 0 || r.Status == crawl.RunRunning {
			return false
		}
		left--
		return true
	})
}

// watched is how things stand, and how gaps were kept.
type watched struct {
	report.Watch
	Gaps
}

// look looks at both, for all who look at the overview.
func (s *Server) look(ctx context.Context) (w watched, err error) {
	if w.Watch, err = s.Store.Watch(ctx); err != nil {
		return w, err
	}
	ended, err := s.Store.EndedGaps(ctx, w.Now.Add(-gapsSpan), w.Now, []float64{1}) // the buckets are not shown
	w.Gaps = gapsOf(ended)
	return w, err
}

func gapsOf(all []report.EndedGaps) (g Gaps) {
	late, latest := 0.0, 0.0
	for _, of := range all {
		g.Ended += of.Gaps
		g.Violations += of.Violations
		late += of.LateSeconds
		latest = max(latest, of.LatestSeconds)
	}
	if g.Ended > 0 {
		g.Late, g.Latest = seconds(late/float64(g.Ended)), seconds(latest)
	}
	return g
}

// seconds is a duration to the millisecond.
func seconds(n float64) settings.Duration {
	return settings.Duration(time.Duration(n * float64(time.Second)).Round(time.Millisecond))
}
