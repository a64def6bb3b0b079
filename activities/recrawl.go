package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
)

// RecrawlStore has runs ask for pages again.
type RecrawlStore interface {
	RecrawlDue(ctx context.Context, runID int64, most int) (int, error)
	PlanRecrawl(
		ctx context.Context, domain string,
		plan func(histories []json.RawMessage, least time.Duration, kept crawl.DomainRecrawl) (json.RawMessage, error),
	) error
	HintRecrawl(
		ctx context.Context, runID int64, told []crawl.ListNews,
		hint func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error),
	) error
	RecrawlOlder(ctx context.Context, runID int64, domain string, before time.Time, told func(pages int)) error
}

// RecrawlInput names pages of a run: those that were fetched longer ago than OlderThan, of
// one domain or of all. It is meant to be written by hand:
//
//	{"run":"small-web","older_than":"720h"}
type RecrawlInput struct {
	Run       string         `json:"run"`
	OlderThan crawl.Duration `json:"older_than"`
	Domain    string         `json:"domain,omitempty"`
}

// RecrawlResult counts the pages that are pending by it.
type RecrawlResult struct {
	Pending int `json:"pending"`
}

// Validate checks an input. Errors wrap crawl.ErrInvalid.
func (in RecrawlInput) Validate() error {
	if err := crawl.ValidateRunName(in.Run); err != nil {
		return err
	}
	if in.OlderThan <= 0 {
		return fmt.Errorf("%w: older_than: want a duration above zero, such as 720h", crawl.ErrInvalid)
	}
	return nil
}

// Recrawl makes pages pending that were fetched long ago. If it is run again, those that are
// pending already are left alone.
func (a *Activities) Recrawl(ctx context.Context, in RecrawlInput) (RecrawlResult, error) {
	var res RecrawlResult
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return res, orBadInput(err)
	}
	err = a.store.RecrawlOlder(ctx, run.ID, in.Domain, time.Now().Add(-time.Duration(in.OlderThan)), func(pages int) {
		res.Pending = pages
		activity.RecordHeartbeat(ctx)
	})
	return res, err
}
