package activities

import (
	"cmp"
	"context"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
)

// AddURLsInput adds pages of a domain to a run.
type AddURLsInput struct {
	Domain string   `json:"domain"`
	Run    string   `json:"run"`
	URLs   []string `json:"urls"`
}

// AddURLsResult counts the pages that were new to the run.
type AddURLsResult struct {
	Added int `json:"added"`
}

// AddURLs seeds pages of a domain. It resumes a finished run, and refuses a stopped one.
func (a *Activities) AddURLs(ctx context.Context, in AddURLsInput) (AddURLsResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return AddURLsResult{}, orBadInput(err)
	}
	parsed, err := urls.ParseAll(in.URLs)
	if err != nil {
		return AddURLsResult{}, badInput(err)
	}
	if run.Status == crawl.RunStopped {
		return AddURLsResult{}, badInput(crawl.NewStateError("run %q is %s: resume it first, with mosey crawl --run %s or a SeedWorkflow",
			run.Name, cmp.Or(run.Reason, string(run.Status)), run.Name))
	}
	pages := make([]seeds.Seed, len(parsed))
	for i, u := range parsed {
		pages[i] = seeds.Typed(u, in.URLs[i])
	}
	stored, err := a.store.StoreSeeds(ctx, run.ID, seeds.URLs, pages)
	if err != nil || stored.Added == 0 {
		return AddURLsResult{}, err
	}
	return AddURLsResult{Added: stored.Added}, a.wakeDispatcher(ctx, run.Name)
}
