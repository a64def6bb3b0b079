package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

// SeedInput adds pages to a run. Without pages it changes the settings of an existing run, and
// resumes it. People write it by hand:
//
//	{"run":"small-web","urls":["https://example.org/"],"settings":{"delay":"10s"}}
type SeedInput struct {
	Run  string   `json:"run"`
	URLs []string `json:"urls,omitempty"`
	// Settings apply to a new run, and change those of an existing one.
	Settings settings.Settings `json:"settings,omitzero"`
	// Source, if set, names a seed file for a worker to read:
	//
	//	{"run":"top","source":"tranco","limit":1000}
	activities.SeedFile
	// Staged is set if a command line has stored more seeds in the database.
	Staged bool `json:"staged,omitempty"`

	decodeErr error
	// unknownField names an unknown field of the JSON.
	unknownField string
}

// UnmarshalJSON leaves errors to the workflow, which can explain them better.
func (in *SeedInput) UnmarshalJSON(data []byte) error {
	type plain SeedInput
	in.decodeErr = crawl.JSONError(json.Unmarshal(data, (*plain)(in)))
	in.unknownField = unknownField[plain](data)
	return nil
}

// SeedResult counts the seeds.
type SeedResult struct {
	activities.StoreSeedsResult
	activities.FilterSeedsResult
}

func (in SeedInput) validate() error {
	if in.decodeErr != nil {
		return in.decodeErr
	}
	if in.unknownField != "" {
		return fmt.Errorf("%w: unknown field %q; put settings under \"settings\"", crawl.ErrInvalid, in.unknownField)
	}
	if err := crawl.ValidateRunName(in.Run); err != nil {
		return err
	}
	if err := in.Settings.Validate(); err != nil {
		return err
	}
	if list := in.SeedFile; list != (activities.SeedFile{}) {
		if err := list.Validate(); err != nil {
			return err
		}
	}
	_, err := urls.ParseSeeds(in.URLs)
	return err
}

// SeedWorkflow stores seeds, starts the run's CrawlWorkflow, then closes the seeds that robots.txt
// forbids. Wrong input stores nothing: an error of type BadInput names the field.
func SeedWorkflow(ctx workflow.Context, in SeedInput) (SeedResult, error) {
	res, err := seed(ctx, in)
	return res, endWithOutcome(ctx, err)
}

func seed(ctx workflow.Context, in SeedInput) (SeedResult, error) {
	if err := in.validate(); err != nil {
		return SeedResult{}, temporal.NewNonRetryableApplicationError(err.Error(), activities.TypeBadInput, nil)
	}
	var res SeedResult
	started := false
	err := workflow.SetQueryHandler(ctx, QueryStarted, func() (bool, error) { return started, nil })
	if err != nil {
		return res, err
	}
	var listed activities.StoreSeedsResult
	if in.SeedFile != (activities.SeedFile{}) {
		err = workflow.ExecuteActivity(withSeedOptions(ctx, "store the seed file of run "+in.Run), act.StoreSeedFile,
			activities.StoreSeedFileInput{Run: in.Run, File: in.SeedFile, Settings: in.Settings}).Get(ctx, &listed)
		if err != nil {
			return res, err
		}
	}
	err = workflow.ExecuteActivity(withSeedOptions(ctx, "store the seeds of run "+in.Run), act.StoreSeeds,
		activities.StoreSeedsInput{Run: in.Run, URLs: in.URLs, Settings: in.Settings}).Get(ctx, &res.StoreSeedsResult)
	if err != nil {
		return res, err
	}
	res.Added, res.Known, res.Listed = res.Added+listed.Added, res.Known+listed.Known, res.Listed+listed.Listed
	res.Refused, res.Example = res.Refused+listed.Refused, cmp.Or(res.Example, listed.Example)
	err = workflow.ExecuteActivity(withRecordOptions(ctx, "start run "+in.Run), act.StartCrawl,
		activities.StartCrawlInput{Run: in.Run, Scheduled: isScheduled(ctx)}).Get(ctx, nil)
	if err != nil {
		return res, err
	}
	started = true
	// This runs beside the crawl, so that one slow seed does not delay the others.
	err = workflow.ExecuteActivity(withFilterOptions(ctx, "check robots.txt of the seeds of run "+in.Run), act.FilterSeeds,
		activities.FilterSeedsInput{Run: in.Run, Wake: in.Settings != (settings.Settings{})}).Get(ctx, &res.FilterSeedsResult)
	return res, err
}
