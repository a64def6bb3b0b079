package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/search/index"
)

// Overview is the first page.
type Overview struct {
	head

	// Runs holds the latest runs. All counts the stored ones.
	Runs  []report.Progress `json:"runs"`
	All   int               `json:"all_runs"`
	Watch report.Watch      `json:"watch"`
	// CountedAt is the time of the oldest count. Counting is set if a run was not counted yet.
	CountedAt time.Time `json:"counted_at,omitzero"`
	Counting  bool      `json:"counting,omitempty"`
	Gaps      Gaps      `json:"gaps"`
	Tiles     Tiles     `json:"tiles"`
	Over      Over      `json:"outcomes"`
	// Outages are outages of our own network.
	Outages []crawl.Outage `json:"outages,omitempty"`
}

// Gaps counts recent gaps between requests to one domain, address, subnet or registered domain.
type Gaps struct {
	Ended      int64 `json:"ended"`
	Violations int64 `json:"violations"`
	// Late is the average lateness of the requests that ended them, and Latest the maximum.
	Late   settings.Duration `json:"average_lateness"`
	Latest settings.Duration `json:"max_lateness"`
}

const gapsSpan = time.Minute

func (s *Server) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	runs, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	v := &Overview{head: head{Now: s.Now()}, All: len(runs)}
	countCtx, cancel := context.WithTimeout(ctx, firstCountTimeout) // for all of them together
	defer cancel()
	for _, run := range crawl.LatestRuns(runs, maxRuns) {
		p, at, err := s.progress.get(countCtx, run.Name, func(ctx context.Context) (report.Progress, error) {
			return s.Counts.Progress(ctx, run)
		})
		switch {
		case errors.Is(err, errCounting):
			v.Counting = true
		case err != nil:
			return nil, err
		}
		p.Run = run // the current row
		if v.CountedAt.IsZero() || at.Before(v.CountedAt) {
			v.CountedAt = at
		}
		v.Runs = append(v.Runs, p)
	}
	w, _, err := s.watch.get(ctx, "", s.readWatch)
	if err != nil {
		return nil, err
	}
	v.Watch, v.Gaps, v.Tiles = w.Watch, w.Gaps, w.tiles
	if v.Over, err = s.over(r, 0); err != nil {
		return nil, err
	}
	if len(v.Runs) > 0 {
		v.Outages = v.Runs[0].Outages
	}
	v.Sentence = explain.Overall(v.Runs, v.Now)
	if v.Counting {
		v.Sentence = explain.Count(int64(len(runs)), "run") + ": counting their pages for the first time takes long. Reload the page later."
	}
	slices.Reverse(v.Runs) // the newest first
	return v, nil
}

// maxRuns bounds the runs of the overview.
const maxRuns = 50

// Tiles holds the numbers at the top of the overview.
type Tiles struct {
	// PagesPerSecond approximates the average of the last minute.
	PagesPerSecond float64 `json:"pages_per_second"`
	// Active counts the domains with a workflow, and Waiting those of them that may not be requested
	// yet. Failed counts the blocked and unreachable domains, and Indexed the searchable pages.
	Active  int64 `json:"active"`
	Waiting int64 `json:"waiting"`
	Failed  int64 `json:"failed"`
	Indexed int64 `json:"indexed"`
}

type watchCounts struct {
	report.Watch
	Gaps

	tiles Tiles
}

func (s *Server) readWatch(ctx context.Context) (w watchCounts, err error) {
	if w.Watch, err = s.Store.Watch(ctx); err != nil {
		return w, err
	}
	gaps, err := s.Store.EndedGaps(ctx, w.Now.Add(-gapsSpan), w.Now, []float64{1}) // the buckets are not shown
	late, latest := 0.0, 0.0
	for _, of := range gaps {
		w.Ended += of.Gaps
		w.Violations += of.Violations
		late += of.LatenessSumSeconds
		latest = max(latest, of.LatenessMaxSeconds)
	}
	if w.Ended > 0 {
		w.Late, w.Latest = seconds(late/float64(w.Ended)), seconds(latest)
	}
	if err == nil {
		w.tiles, err = s.readTiles(ctx, w.Watch)
	}
	return w, err
}

func (s *Server) readTiles(ctx context.Context, w report.Watch) (t Tiles, err error) {
	for reason, n := range w.Waits {
		t.Active += n
		if reason != "" && reason != reasons.InFlight {
			t.Waiting += n
		}
	}
	t.Failed = w.Domains[crawl.DomainBlocked] + w.Domains[crawl.DomainUnreachable]
	minute := w.Now.Truncate(gapsSpan) // outcomes are stored by the minute
	last, err := s.Store.Outcomes(ctx, 0, minute.Add(-gapsSpan), gapsSpan, 2)
	if err != nil {
		return t, err
	}
	share := 1 - w.Now.Sub(minute).Seconds()/gapsSpan.Seconds() // of the previous minute
	pages := share*float64(last.Spans[0].Outcomes[crawl.OutcomeSuccess]) + float64(last.Spans[1].Outcomes[crawl.OutcomeSuccess])
	t.PagesPerSecond = tenth(pages / gapsSpan.Seconds())
	return t, s.Store.Index(ctx, func(v index.View) error {
		segments, err := v.Segments(ctx)
		for _, of := range segments {
			t.Indexed += int64(of.Pages)
		}
		return err
	})
}

// seconds rounds a duration to the millisecond.
func seconds(n float64) settings.Duration {
	return settings.Duration(time.Duration(n * float64(time.Second)).Round(time.Millisecond))
}

// RunView is a run in detail.
type RunView struct {
	head
	report.Run

	CountedAt time.Time `json:"counted_at,omitzero"`
	Moves     []string  `json:"status_lines"` // its activity and its waits
	Over      Over      `json:"outcomes"`
	Ends      string    `json:"-"` // the estimated end of all pending pages, if it is known
	// Set lists its settings, first those that differ from the defaults.
	Set []RunSetting `json:"-"`
}

// RunSetting is a setting of a run.
type RunSetting struct {
	settings.Setting

	Value string
	Usual bool            // equals the default
	Last  crawl.RunChange // zero if it was never changed
}

func setOf(run report.Run) []RunSetting {
	defaults := settings.Settings{}.WithDefaults()
	var changed, unchanged []RunSetting
	for _, setting := range settings.All() {
		one := RunSetting{Setting: setting, Value: setting.ValueText(run.Settings)}
		one.Usual = one.Value == setting.ValueText(defaults)
		for _, c := range run.Changes { // the latest first
			if _, of := c.NewValues[setting.Name]; of {
				one.Last = c
				break
			}
		}
		if one.Usual {
			unchanged = append(unchanged, one)
		} else {
			changed = append(changed, one)
		}
	}
	return append(changed, unchanged...)
}

const maxNamedItems = 50

func (s *Server) run(r *http.Request) (view, error) {
	run, err := s.Store.Run(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := &RunView{head: head{Now: s.Now(), name: run.Name}}
	v.Run, v.CountedAt, err = s.reports.get(r.Context(), run.Name, func(ctx context.Context) (report.Run, error) {
		return s.Counts.RunReport(ctx, run, maxNamedItems)
	})
	counting := errors.Is(err, errCounting)
	if err != nil && !counting {
		return nil, err
	}
	if v.Over, err = s.over(r, run.ID); err != nil {
		return nil, err
	}
	v.Run.Run = run // the current row
	v.Sentence = explain.Run(v.Progress, v.Now)
	if counting {
		v.Sentence = fmt.Sprintf("Run %s is %s. Counting its pages for the first time takes long. Reload the page later.", run.Name, run.Status)
		return v, nil
	}
	v.Moves, v.Set, v.Ends = explain.Moves(v.Progress, v.Now), setOf(v.Run), explain.EstimatedEnd(v.Run, v.CountedAt.UTC())
	return v, nil
}
