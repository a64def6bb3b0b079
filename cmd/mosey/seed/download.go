package seed

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/seedfile"
	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// published is a list that is downloaded first.
func (s *Cmd) published(source seeds.Source) (seedInput, error) {
	from := s.URL
	if from == "" {
		from = seedfile.Published(source)
	}
	if from == "" {
		return seedInput{}, wiring.Usagef("seed: nothing to read: want URLs or hosts, --file, " +
			"or a list that is published (--source tranco or majestic)")
	}
	if err := seedfile.ValidateURL(from); err != nil {
		return seedInput{}, wiring.Usagef("%w", command.AsFlag(err, nil))
	}
	if err := s.Validate(); err != nil {
		return seedInput{}, wiring.Usagef("%w", err)
	}
	return seedInput{source: source, url: from, flags: s.FetchFlags}, nil
}

// downloaded returns the file that has a published list.
func downloaded(ctx context.Context, e *command.Env, in seedInput) (string, error) {
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return "", err
	}
	guard, err := fetch.New(fetch.Config{UserAgent: in.flags.Agent(), AllowNetworks: in.flags.AllowNetwork})
	if err != nil {
		return "", err
	}
	line := command.NewProgressLine(e)
	defer line.Clear()
	d := seedfile.Downloader{Dir: filepath.Join(dir, "lists"), Agent: in.flags.Agent(), Permits: guard.Permits, Tell: func(n int64) {
		line.Show(func(time.Time) string { return fmt.Sprintf("downloading %s: %.1f MB", in.url, float64(n)/1e6) })
	}}
	path, stale, err := d.Get(ctx, in.source, in.url)
	if err != nil {
		return "", fmt.Errorf("%w: give the list with --file, or another address with --url", err)
	}
	if stale != nil {
		fmt.Fprintf(e.Stderr, "mosey: %v: the list that was downloaded before is used\n", stale)
	}
	return path, nil
}
