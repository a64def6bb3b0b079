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
	RecrawlDue(ctx context.Context, runID int64, most int) (int, error)
	PlanRecrawl(
		ctx context.Context, domain string,
		plan func(histories []json.RawMessage, least time.Duration, kept crawl.DomainRecrawl) (json.RawMessage, error),
	) error
	RecrawlOlder(ctx context.Context, of crawl.RecrawlOf, from crawl.RecrawlProgress, told func(crawl.RecrawlProgress)) error
	RefreshRun(ctx context.Context, of crawl.Run, name, by string, only settings.Only, own settings.Settings) (crawl.Run, error)
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
	// Only selects pages or images; empty means both.
	Only settings.Only `json:"only,omitempty"`

	unreadable error
}

// UnmarshalJSON decodes an input. Validate returns its error.
func (in *RecrawlInput) UnmarshalJSON(data []byte) error {
	type plain RecrawlInput
	in.unreadable = crawl.JSONFault(json.Unmarshal(data, (*plain)(in)))
	return nil
}

// RecrawlResult counts the pages made pending.
type RecrawlResult struct {
	Pending int `json:"pending"`
}

// Validate checks an input. Errors wrap crawl.ErrInvalid.
func (in RecrawlInput) Validate() error {
	if in.unreadable != nil {
		return in.unreadable
	}
	if err := crawl.ValidateRunName(in.Run); err != nil {
		return err
	}
	if in.OlderThan <= 0 {
		return fmt.Errorf("%w: older_than: want a positive duration, such as 720h", crawl.ErrInvalid)
	}
	if in.Only != "" && !slices.Contains(settings.Onlys, in.Only) {
		return fmt.Errorf("%w: only %q: want one of %v, or leave it out for both", crawl.ErrInvalid, in.Only, settings.Onlys)
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

// Asks returns the run that requests the pages.
func (in RecrawlInput) Asks() string { return cmp.Or(in.Into, in.Run) }

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
	at := recrawlHeartbeat{Before: time.Now().Add(-time.Duration(in.OlderThan))}
	if activity.HasHeartbeatDetails(ctx) {
		var kept recrawlHeartbeat
		if err := activity.GetHeartbeatDetails(ctx, &kept); err == nil && !kept.Before.IsZero() {
			// The state of an older worker is not understood, so the activity restarts.
			at = kept
		}
	}
	res.Pending = at.Pending
	var own settings.Settings
	if in.Settings != nil {
		own = *in.Settings
	}
	into, err := a.store.RefreshRun(ctx, run, in.Into, activity.GetInfo(ctx).WorkflowExecution.ID, in.Only, own)
	if err != nil {
		return res, err
	}
	of := crawl.RecrawlOf{RunID: run.ID, IntoID: into.ID, Domain: in.Domain, Before: at.Before, Only: in.Only}
	ctx, cancel := untilStop(ctx)
	defer cancel()
	err = a.store.RecrawlOlder(ctx, of, at.RecrawlProgress, func(p crawl.RecrawlProgress) {
		at.RecrawlProgress, res.Pending = p, p.Pending
		activity.RecordHeartbeat(ctx, at)
	})
	return res, err
}
