package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

// RecrawlStore makes pages of runs pending again.
type RecrawlStore interface {
	RecrawlDue(ctx context.Context, runID int64, limit int) (int, error)
	PlanRecrawl(
		ctx context.Context, domain string,
		plan func(histories []json.RawMessage, minDelay time.Duration, current crawl.DomainRecrawl) (json.RawMessage, error),
	) error
	RecrawlOlder(
		ctx context.Context, selection crawl.RecrawlSelection, from crawl.RecrawlProgress,
		onProgress func(crawl.RecrawlProgress),
	) error
	RefreshRun(ctx context.Context, source crawl.Run, name, by string, kind settings.RefreshKind, changes settings.Settings) (crawl.Run, error)
	ScheduleRevisits(
		ctx context.Context, runID int64, due func(history json.RawMessage, fetched time.Time) (time.Time, error),
	) (done bool, err error)
}

// RecrawlInput selects the pages of a run that were fetched longer ago than OlderThan, of one
// domain or of all. People write it by hand:
//
//	{"run":"small-web","older_than":"720h"}
//	{"run":"small-web","older_than":"48h","into":"images","only":"images","settings":{"delay":"30s"}}
type RecrawlInput struct {
	Run       string            `json:"run"`
	OlderThan settings.Duration `json:"older_than"`
	Domain    string            `json:"domain,omitempty"`
	// Into is the run that requests the pages; empty means Run. A missing run is created with the
	// settings of Run as settings.Refresh changes them, and Settings.
	Into     string             `json:"into,omitempty"`
	Settings *settings.Settings `json:"settings,omitempty"`
	// RefreshKind selects pages or images; empty means both.
	RefreshKind settings.RefreshKind `json:"only,omitempty"`

	decodeErr error
}

// UnmarshalJSON decodes an input. Validate returns its error.
func (in *RecrawlInput) UnmarshalJSON(data []byte) error {
	type plain RecrawlInput
	in.decodeErr = crawl.JSONError(json.Unmarshal(data, (*plain)(in)))
	return nil
}

// RecrawlResult counts the pages made pending.
type RecrawlResult struct {
	Pending int `json:"pending"`
}

// Validate checks an input. Errors wrap crawl.ErrInvalid.
func (in RecrawlInput) Validate() error {
	if in.decodeErr != nil {
		return in.decodeErr
	}
	if err := crawl.ValidateRunName(in.Run); err != nil {
		return err
	}
	if in.OlderThan <= 0 {
		return fmt.Errorf("%w: older_than: want a positive duration, such as 720h", crawl.ErrInvalid)
	}
	if in.RefreshKind != "" && !slices.Contains(settings.RefreshKinds, in.RefreshKind) {
		return fmt.Errorf("%w: only %q: want one of %v, or leave it out for both", crawl.ErrInvalid, in.RefreshKind, settings.RefreshKinds)
	}
	if in.Into == "" {
		if in.Settings != nil {
			return fmt.Errorf("%w: settings: they apply to the run that into names, but into is empty", crawl.ErrInvalid)
		}
		return nil
	}
	if in.Into == in.Run {
		return fmt.Errorf("%w: into %q: want a different run, or leave it out", crawl.ErrInvalid, in.Into)
	}
	if err := crawl.ValidateRunName(in.Into); err != nil {
		return fmt.Errorf("into: %w", err)
	}
	if in.Settings != nil {
		return politeness.ValidateSettings(*in.Settings)
	}
	return nil
}

// TargetRun returns the run that requests the pages.
func (in RecrawlInput) TargetRun() string { return cmp.Or(in.Into, in.Run) }

// recrawlHeartbeat is the state that a retry of Recrawl resumes from. Before is set once.
type recrawlHeartbeat struct {
	crawl.RecrawlProgress

	Before time.Time `json:"before"`
}

// Recrawl makes pages pending that were fetched long ago. A retry resumes from its heartbeat.
func (a *Activities) Recrawl(ctx context.Context, in RecrawlInput) (RecrawlResult, error) {
	var res RecrawlResult
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return res, orBadInput(err)
	}
	progress := recrawlHeartbeat{Before: time.Now().Add(-time.Duration(in.OlderThan))}
	if activity.HasHeartbeatDetails(ctx) {
		var stored recrawlHeartbeat
		if err := activity.GetHeartbeatDetails(ctx, &stored); err == nil && !stored.Before.IsZero() {
			// The state of an older worker is not understood, so the activity restarts.
			progress = stored
		}
	}
	res.Pending = progress.Pending
	var changes settings.Settings
	if in.Settings != nil {
		changes = *in.Settings
	}
	into, err := a.store.RefreshRun(ctx, run, in.Into, activity.GetInfo(ctx).WorkflowExecution.ID, in.RefreshKind, changes)
	if err != nil {
		return res, err
	}
	selection := crawl.RecrawlSelection{
		RunID: run.ID, IntoID: into.ID, Domain: in.Domain, Before: progress.Before, RefreshKind: in.RefreshKind,
	}
	ctx, cancel := untilStop(ctx)
	defer cancel()
	err = a.store.RecrawlOlder(ctx, selection, progress.RecrawlProgress, func(p crawl.RecrawlProgress) {
		progress.RecrawlProgress, res.Pending = p, p.Pending
		activity.RecordHeartbeat(ctx, progress)
	})
	return res, err
}
