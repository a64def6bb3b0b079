package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
)

// Event names what an attempt found at a page.
type Event string

// The events. Their table is in docs/feed.md.
const (
	EventRead       Event = "read"
	EventChanged    Event = "changed"
	EventUnchanged  Event = "unchanged"
	EventRedirected Event = "redirected"
	EventNoContent  Event = "no content"
	EventGone       Event = "gone"
	EventForbidden  Event = "forbidden"
	EventFailed     Event = "failed"
)

// Feed reads the attempts at pages and images in the order in which they were closed.
type Feed struct {
	Store FeedStore
	RunID *int64 // nil means all runs
}

// FeedStore reads the attempts.
type FeedStore interface {
	// FeedEnd returns the last position that no attempt can still precede.
	FeedEnd(ctx context.Context, after int64) (int64, error)
	// Feed reads a batch of attempts up to a position. At the end next equals after.
	Feed(ctx context.Context, runID *int64, after report.FeedPosition, last int64) (rows []report.FeedRow, next report.FeedPosition, err error)
	// FeedSince returns the position before the first attempt that ended at an instant or later.
	FeedSince(ctx context.Context, since time.Time) (report.FeedPosition, error)
	// CheckFeedPosition returns crawl.ErrNotFound for a position of another database.
	CheckFeedPosition(ctx context.Context, p report.FeedPosition) error
}

// FeedLine is an attempt as a JSON object, without a line break. Cursor is its place in the feed.
type FeedLine struct {
	Cursor report.FeedPosition
	JSON   []byte
}

// Start returns the cursor of a text, or of an instant if the text is empty; the beginning if both
// are zero. It returns crawl.ErrInvalid for a text that is no cursor of this database.
func (f *Feed) Start(ctx context.Context, text string, since time.Time) (report.FeedPosition, error) {
	if text == "" {
		if since.IsZero() {
			return report.FeedPosition{}, nil
		}
		return f.Store.FeedSince(ctx, since)
	}
	c, err := report.ParseFeedPosition(text)
	if err != nil {
		return c, err
	}
	if err := f.Store.CheckFeedPosition(ctx, c); err != nil {
		if errors.Is(err, crawl.ErrNotFound) {
			return c, fmt.Errorf("%w: cursor %s: this database has no such attempt, perhaps because a backup was restored: "+
				"start anew from an instant before the backup", crawl.ErrInvalid, c)
		}
		return c, err
	}
	return c, nil
}

// Each calls do with each line after a cursor, up to the present end of the feed. It returns the
// cursor after which the feed goes on, also if do returns an error.
func (f *Feed) Each(ctx context.Context, after report.FeedPosition, do func(FeedLine) error) (report.FeedPosition, error) {
	end, err := f.Store.FeedEnd(ctx, after.Number)
	if err != nil || end <= after.Number {
		return after, err
	}
	objects := newFeedObjects()
	for {
		rows, next, err := f.Store.Feed(ctx, f.RunID, after, end)
		if err != nil || next == after {
			return after, err
		}
		now := time.Now()
		for i := range rows {
			line, err := objects.line(&rows[i], now)
			if err != nil {
				return after, err
			}
			if err := do(line); err != nil {
				return after, err
			}
			after = line.Cursor
		}
		after = next
	}
}

func eventOf(r *report.FeedRow) Event {
	a := crawl.Attempt{Outcome: r.Attempt.Outcome, StatusCode: r.Attempt.StatusCode, Skipped: reasons.Reason(r.Attempt.Skipped)}
	switch {
	case a.Outcome == crawl.OutcomeBlockedRobots:
		return EventForbidden
	case decide.IsGone(a):
		return EventGone
	case a.Outcome != crawl.OutcomeSuccess:
		return EventFailed
	case r.Attempt.Unchanged != "":
		return EventUnchanged
	case a.StatusCode >= 300:
		return EventRedirected
	case a.Skipped != "":
		return EventNoContent
	case r.WasRead:
		return EventChanged
	}
	return EventRead
}

// feedObjects writes the objects of a line with the columns of an export.
type feedObjects struct {
	attempt    object[report.CrawlRow]
	page       object[page]
	link       object[report.LinkRow]
	provenance object[report.ProvenanceRow]
	image      object[report.ImageRow]
}

func newFeedObjects() feedObjects {
	return feedObjects{
		attempt: objectOf(crawlColumns()), page: objectOf(pageColumns()), link: objectOf(linkColumns()),
		provenance: objectOf(provenanceColumns()), image: objectOf(imageColumns()),
	}
}

// object appends a row to a line.
type object[R any] func(line []byte, row *R) []byte

func objectOf[R any](columns []column[R]) object[R] {
	names, values := declared(columns), make([]value, len(columns))
	keys := keysOf(names)
	return func(line []byte, row *R) []byte {
		readValues(values, columns, row)
		return appendObject(line, names, keys, values)
	}
}

func (o feedObjects) line(r *report.FeedRow, now time.Time) (FeedLine, error) {
	cursor, event := r.Position, eventOf(r)
	line := fmt.Appendf(nil, `{"cursor":"%s","event":"%s","attempt":`, cursor, event)
	line = o.attempt(line, &r.Attempt)
	if r.Attempt.Kind.Image() {
		line = o.image(append(line, `,"image":`...), &r.Image)
		return FeedLine{cursor, append(line, '}')}, nil
	}
	p, err := pageOf(r.Page, now)
	if err != nil {
		return FeedLine{}, err
	}
	line = o.page(append(line, `,"page":`...), &p)
	if event == EventRead || event == EventChanged || event == EventRedirected {
		line = appendObjects(line, `,"links":[`, r.Links, o.link)
		line = appendObjects(line, `,"images":[`, r.Images, o.provenance)
	}
	return FeedLine{cursor, append(line, '}')}, nil
}

func appendObjects[R any](line []byte, label string, rows []R, write object[R]) []byte {
	line = append(line, label...)
	for i := range rows {
		line = append(write(line, &rows[i]), ',')
	}
	return append(bytes.TrimSuffix(line, []byte(",")), ']')
}
