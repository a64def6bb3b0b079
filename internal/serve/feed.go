package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/export"
)

const (
	maxFeedLines = 1000 // in one response, unless it is a stream
	maxFeedWait  = time.Minute
)

// feedParams alternates the names and descriptions of the query parameters of the feed.
var feedParams = []string{
	"after", "the cursor of the last line that was processed", "run", "only pages of this run",
	"wait", "how long to wait for a line, such as 30s; at most 1m",
}

// errFeedFull ends a response with maxFeedLines.
var errFeedFull = errors.New("the response is full")

// feed sends lines of the feed: with Accept: text/event-stream as server-sent events, else as JSON
// lines as soon as there is one, or an empty body after the wait.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	select {
	case s.eventStreams <- struct{}{}:
		defer func() { <-s.eventStreams }()
	default:
		s.writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "too many readers receive updates: try again later"})
		return
	}
	isStream := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	feed, after, wait, err := s.openFeed(r, isStream)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	send := &feedSender{w: w, control: http.NewResponseController(w), isStream: isStream}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		// a batch is not interrupted by the end of the wait
		after, err = feed.Each(r.Context(), after, send.line)
		if err == nil {
			err = send.flush()
		}
		switch {
		case errors.Is(err, errFeedFull), err == nil && send.lines > 0 && !isStream:
			return
		case err != nil && !send.begun:
			s.problem(w, r, err)
			return
		case err != nil:
			if r.Context().Err() == nil {
				s.Logger.Warn("could not send the feed", "error", err)
			}
			panic(http.ErrAbortHandler) // a reader must not take it for complete
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// openFeed returns the feed, its start and the time to wait. A browser that connects again sends
// the cursor as Last-Event-ID.
func (s *Server) openFeed(r *http.Request, isStream bool) (feed *export.Feed, after export.Cursor, wait time.Duration, err error) {
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
	w        http.ResponseWriter
	control  *http.ResponseController
	isStream bool
	begun    bool // the header is sent
	lines    int
}

func (f *feedSender) begin() error {
	if f.begun {
		return nil
	}
	f.begun = true
	contentType := "application/jsonl"
	if f.isStream {
		contentType = "text/event-stream"
	}
	f.w.Header().Set("Content-Type", contentType)
	f.w.Header().Set("Cache-Control", "no-store")
	f.w.Header().Set("X-Accel-Buffering", "no") // a proxy must not delay lines
	// the request is read: its deadline would end the response
	return errors.Join(f.control.SetReadDeadline(time.Time{}), f.extend())
}

// extend gives the reader time for the next lines.
func (f *feedSender) extend() error {
	return f.control.SetWriteDeadline(time.Now().Add(maxFeedWait + pageTimeout))
}

func (f *feedSender) line(line export.FeedLine) error {
	err := f.begin()
	if err != nil {
		return err
	}
	if f.isStream {
		_, err = fmt.Fprintf(f.w, "id: %s\ndata: %s\n\n", line.Cursor, line.JSON)
	} else {
		_, err = f.w.Write(append(line.JSON, '\n'))
	}
	f.lines++
	switch {
	case err != nil:
		return err
	case f.lines%100 == 0:
		err = f.extend()
	}
	if f.lines == maxFeedLines && !f.isStream {
		return errFeedFull
	}
	return err
}

// flush sends what was written. In a stream a comment shows whether the reader is still there.
func (f *feedSender) flush() error {
	if err := f.begin(); err != nil {
		return err
	}
	if f.isStream {
		if err := f.extend(); err != nil {
			return err
		}
		if _, err := fmt.Fprint(f.w, ":\n\n"); err != nil {
			return err
		}
	}
	return f.control.Flush()
}
