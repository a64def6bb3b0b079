package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
)

// RunView is a run in detail.
type RunView struct {
	head
	report.Run

	// CountedAt is when it was counted.
	CountedAt time.Time `json:"counted_at,omitzero"`
	// Moves says what it is doing, and what it waits for.
	Moves []string `json:"moves"`
	// Over is how attempts of it have ended over time.
	Over Over `json:"over"`
	// Ends says about when what is pending is done; empty is not known.
	Ends string `json:"-"`
	// Set are its settings, those first that are not the usual ones.
	Set []RunSetting `json:"-"`
}

// RunSetting is a setting of a run.
type RunSetting struct {
	settings.Setting

	Value string
	// Usual says that it is the default.
	Usual bool
	// Last is who has changed it last; zero is nobody since the run was made.
	Last crawl.RunChange
}

// setOf tells a run's settings.
func setOf(run report.Run) []RunSetting {
	usual := settings.Settings{}.WithDefaults()
	var all []RunSetting
	for _, setting := range settings.All() {
		one := RunSetting{Setting: setting, Value: setting.Of(run.Settings)}
		one.Usual = one.Value == setting.Of(usual)
		for _, c := range run.Changes { // the latest first
			if _, of := c.Value[setting.Name]; of {
				one.Last = c
				break
			}
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b RunSetting) int {
		switch {
		case a.Usual == b.Usual:
			return 0
		case a.Usual:
			return 1
		}
		return -1
	})
	return all
}

// namedLong is how many domains of a kind are named.
const namedLong = 50

func (s *Server) run(r *http.Request) (view, error) {
	run, err := s.Store.Run(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := &RunView{head: head{Now: s.Now(), name: run.Name}}
	v.Run, v.CountedAt, err = s.reports.of(r.Context(), run.Name, func(ctx context.Context) (report.Run, error) {
		return s.Counts.RunReport(ctx, run, namedLong)
	})
	counting := errors.Is(err, errCounting)
	if err != nil && !counting {
		return nil, err
	}
	if v.Over, err = s.over(r, run.ID, runPage(run.Name)+"/outcomes.svg"); err != nil {
		return nil, err
	}
	v.Run.Run = run // which is as of now
	v.Sentence = explain.Run(v.Progress, v.Now)
	if counting {
		v.Sentence = fmt.Sprintf("Run %s is %s; what it does is being counted for the first time, which takes long here.", run.Name, run.Status)
		return v, nil
	}
	v.Moves, v.Set, v.Ends = explain.Moves(v.Progress, v.Now), setOf(v.Run), explain.Ends(v.Run, v.CountedAt)
	return v, nil
}
