package show

import (
	"bufio"
	"context"
	"io"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/export"
)

// FeedCmd prints what the crawl found, for other programs.
type FeedCmd struct {
	Run_   string `name:"run" help:"Only pages of this run." placeholder:"NAME"` //nolint:revive // Run is the method
	After  string `help:"Only lines after this one: the cursor of the last line that your program has processed." placeholder:"CURSOR"`
	Since  string `help:"Start with requests since then, if there is no cursor yet: a date such as 2026-11-01, or an age such as 30d or 12h." placeholder:"WHEN"`
	Follow bool   `help:"Wait for further lines until Ctrl-C."`
}

// feedInterval is the wait for further lines.
const feedInterval = time.Second

// Run prints one JSON object for each request to a page or image, in the order in which they were
// recorded.
func (c *FeedCmd) Run(ctx context.Context, e *command.Env) error {
	since, err := parseSince("--since", c.Since, time.Now())
	if err != nil {
		return err
	}
	if c.After != "" && c.Since != "" {
		return wiring.Usagef("--since %s: the cursor of --after already says where to start: leave out one of them", c.Since)
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		feed := &export.Feed{Store: store}
		if feed.RunID, err = command.RunID(ctx, store, c.Run_); err != nil {
			return err
		}
		after, err := feed.Start(ctx, c.After, since)
		if err != nil {
			return command.InvalidAsUsage(err)
		}
		err = toStdout(e, func(out io.Writer) error { return c.print(ctx, bufio.NewWriter(out), feed, after) })
		if err != nil && ctx.Err() == nil {
			return err
		}
		return nil // after Ctrl-C too, because each line has its cursor
	})
}

func (c *FeedCmd) print(ctx context.Context, out *bufio.Writer, feed *export.Feed, after report.FeedPosition) (err error) {
	for {
		after, err = feed.Each(ctx, after, func(line export.FeedLine) error {
			_, err := out.Write(append(line.JSON, '\n'))
			return err
		})
		if flushErr := out.Flush(); err == nil {
			err = flushErr
		}
		if err != nil || !c.Follow {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(feedInterval):
		}
	}
}
