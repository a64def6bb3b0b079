package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/export"
)

const (
	feedPath     = "/api/feed"
	maxFeedLines = 1000 // in one response, unless it is a stream
	maxFeedWait  = time.Minute
)

// feedParams alternates the names and descriptions of the query parameters of the feed.
var feedParams = []string{
	"after", "the cursor of the last line that was processed", "run", "only pages of this run",
	"wait", "how long to wait for a line, such as 30s; at most 1m",
}

var (
	// errFeedFull ends a response with maxFeedLines.
	errFeedFull = errors.New("the response is full")
	// errFeedReader reports that a reader does not receive the response.
	errFeedReader = errors.New("the reader of the feed is gone")
)

// feed sends lines of the feed: with Accept: text/event-stream as server-sent events, else as JSON
// lines as soon as there is one, or an empty body after the wait.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	leave, admitted := s.admitReader(w, "try again later")
	if !admitted {
		return
	}
	defer leave()
	isStream := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	feed, after, wait, err := s.openFeed(r, isStream)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	send := &feedSender{server: s, w: w, control: http.NewResponseController(w), isStream: isStream}
	over := time.After(wait)
	ctx, cancel := context.WithTimeout(r.Context(), wait+pageTimeout)
	defer cancel()
	for {
		after, err = feed.Each(ctx, after, send.line)
		if err == nil {
			err = send.flush()
		}
		switch {
		case errors.Is(err, errFeedFull), err == nil && send.lines > 0 && !isStream:
			return
		case err != nil && !send.begun:
			s.problem(w, r, err)
			return
		case errors.Is(err, errFeedReader), r.Context().Err() != nil:
			return
		case err != nil && send.lines == 0, err != nil && isStream:
			s.Logger.Warn("could not read the feed, and tries again", "error", err)
		case err != nil:
			s.Logger.Warn("could not send the feed", "error", err)
			panic(http.ErrAbortHandler) // a reader must not take it for complete
		}
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// openFeed returns the feed, its start and the time to wait. A browser that connects again sends
// the cursor as Last-Event-ID.
func (s *Server) openFeed(r *http.Request, isStream bool) (feed *export.Feed, after report.FeedPosition, wait time.Duration, err error) {
	query := r.URL.Query()
	feed = &export.Feed{Store: s.Store}
	if name := query.Get("run"); name != "" {
		run, err := s.Counts.Run(r.Context(), name)
		if err != nil {
			return nil, after, 0, err
		}
		feed.RunID = &run.ID
	}
	wait = maxStreamDuration
	if !isStream {
		if wait, err = waitOf(query.Get("wait")); err != nil {
			return nil, after, 0, err
		}
	}
	text := query.Get("after")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		text = last
	}
	after, err = feed.Start(r.Context(), text, time.Time{})
	return feed, after, wait, err
}

func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxFeedWait {
		return 0, fmt.Errorf("%w: wait %q: want 0s to 1m", crawl.ErrInvalid, text)
	}
	return wait, nil
}

// feedSender writes lines to a response.
type feedSender struct {
	server   *Server
	w        http.ResponseWriter
	control  *http.ResponseController
	isStream bool
	begun    bool // the header is sent
	lines    int
}

func (f *feedSender) line(line export.FeedLine) error {
	if f.lines%100 == 0 {
		if err := f.extend(); err != nil {
			return err
		}
	}
	var err error
	if f.lines++; f.isStream {
		err = f.write("id: %s\ndata: %s\n\n", line.Cursor, line.JSON)
	} else {
		err = f.write("%s\n", line.JSON)
	}
	if err == nil && f.lines == maxFeedLines && !f.isStream {
		return errFeedFull
	}
	return err
}

// flush sends what was written. In a stream a comment shows whether the reader is still there.
func (f *feedSender) flush() error {
	if err := f.extend(); err != nil {
		return err
	}
	if f.isStream {
		if err := f.write(":\n\n"); err != nil {
			return err
		}
	}
	return f.ofReader(f.control.Flush())
}

// extend begins the response if it has not begun, and gives the reader time for the next lines.
func (f *feedSender) extend() error {
	if !f.begun {
		f.begin()
	}
	return f.ofReader(f.control.SetWriteDeadline(time.Now().Add(maxFeedWait + pageTimeout)))
}

func (f *feedSender) begin() {
	f.begun = true
	contentType := "application/jsonl"
	if f.isStream {
		contentType = "text/event-stream"
	}
	f.server.beginStream(f.w, f.control, contentType)
}

func (f *feedSender) write(format string, args ...any) error {
	_, err := fmt.Fprintf(f.w, format, args...)
	return f.ofReader(err)
}

func (f *feedSender) ofReader(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errFeedReader, err)
	}
	return nil
}
