package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	Cursor Cursor
	JSON   []byte
}

// Start returns the cursor of a text, or of an instant if the text is empty; the beginning if both
// are zero. It returns crawl.ErrInvalid for a text that is no cursor of this database.
func (f *Feed) Start(ctx context.Context, text string, since time.Time) (Cursor, error) {
	if text == "" {
		if since.IsZero() {
			return Cursor{}, nil
		}
		p, err := f.Store.FeedSince(ctx, since)
		return Cursor(p), err
	}
	c, err := parseCursor(text)
	if err != nil {
		return c, err
	}
	if err := f.Store.CheckFeedPosition(ctx, report.FeedPosition(c)); err != nil {
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
func (f *Feed) Each(ctx context.Context, after Cursor, do func(FeedLine) error) (Cursor, error) {
	end, err := f.Store.FeedEnd(ctx, after.Number)
	if err != nil {
		return after, err
	}
	objects := newFeedObjects()
	for {
		rows, next, err := f.Store.Feed(ctx, f.RunID, report.FeedPosition(after), end)
		if err != nil || Cursor(next) == after {
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
		after = Cursor(next)
	}
}

// Cursor is a place in the feed. Its text is opaque to programs.
type Cursor report.FeedPosition

// String returns the position and the end of its attempt.
func (c Cursor) String() string {
	if c.At.IsZero() {
		return strconv.FormatInt(c.Number, 10)
	}
	return strconv.FormatInt(c.Number, 10) + "-" + strconv.FormatInt(c.At.UnixMicro(), 10)
}

func parseCursor(text string) (c Cursor, err error) {
	number, at, dated := strings.Cut(text, "-")
	c.Number, err = strconv.ParseInt(number, 10, 64)
	if err == nil && dated {
		var micros int64
		micros, err = strconv.ParseInt(at, 10, 64)
		c.At = time.UnixMicro(micros)
	}
	if err != nil || c.Number < 0 {
		return Cursor{}, fmt.Errorf("%w: cursor %q: want the cursor of a line of the feed", crawl.ErrInvalid, text)
	}
	return c, nil
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
	attempt, page, link, provenance, image func(line []byte, row any) []byte
}

func newFeedObjects() feedObjects {
	return feedObjects{
		attempt: objectOf(crawlColumns()), page: objectOf(pageColumns()), link: objectOf(linkColumns()),
		provenance: objectOf(provenanceColumns()), image: objectOf(imageColumns()),
	}
}

// objectOf returns a function that appends a *R as an object.
func objectOf[R any](columns []column[R]) func([]byte, any) []byte {
	declared := make([]Column, len(columns))
	for i, c := range columns {
		declared[i] = c.Column
	}
	keys, values := keysOf(declared), make([]value, len(columns))
	return func(line []byte, row any) []byte {
		for i, c := range columns {
			values[i] = c.get(row.(*R)) //nolint:forcetypeassert // the caller's own type
		}
		return appendObject(line, declared, keys, values)
	}
}

func (o feedObjects) line(r *report.FeedRow, now time.Time) (FeedLine, error) {
	cursor, event := Cursor(r.Position), eventOf(r)
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

func appendObjects[R any](line []byte, label string, rows []R, object func([]byte, any) []byte) []byte {
	line = append(line, label...)
	for i := range rows {
		line = append(object(line, &rows[i]), ',')
	}
	return append(bytes.TrimSuffix(line, []byte(",")), ']')
}
