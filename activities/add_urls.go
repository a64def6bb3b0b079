package activities

import (
	"context"

	"github.com/mosey-web/mosey/crawl/urls"
)

// AddURLsInput adds pages of a domain to a run.
type AddURLsInput struct {
	Domain string   `json:"domain"`
	Run    string   `json:"run"`
	URLs   []string `json:"urls"`
}

// AddURLsResult says how many were new to the run.
type AddURLsResult struct {
	Added int `json:"added"`
}

// AddURLs adds pages of a domain to a run as seeds.
func (a *Activities) AddURLs(ctx context.Context, in AddURLsInput) (AddURLsResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return AddURLsResult{}, orBadInput(err)
	}
	parsed, err := urls.ParseAll(in.URLs)
	if err != nil {
		return AddURLsResult{}, badInput(err)
	}
	n, err := a.store.AddSeeds(ctx, run.ID, parsed)
	return AddURLsResult{Added: n}, err
}
