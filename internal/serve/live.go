package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
)

const (
	eventInterval     = 3 * time.Second
	maxStreamDuration = 10 * time.Minute // until the browser connects again
	maxEventStreams   = 20               // concurrent streams
	maxLiveAttempts   = 100
)

// LiveView holds the latest attempts of all domains, the newest first.
type LiveView struct {
	head

	Attempts []LiveAttempt `json:"attempts"`
}

// LiveAttempt is an attempt. Text describes its end.
type LiveAttempt struct {
	report.Attempt

	Text string `json:"text"`
}

func (s *Server) live(r *http.Request) (view, error) {
	crawls, err := s.Store.History(r.Context(), "", "", time.Time{}, maxLiveAttempts)
	if err != nil {
		return nil, err
	}
	v := &LiveView{head: head{Now: s.Now()}}
	for _, c := range crawls {
		c.Error, c.URL = explain.OneLine(c.Error), explain.OneLine(c.URL)
		v.Attempts = append(v.Attempts, LiveAttempt{c, explain.OneLine(explain.Attempt(c))})
	}
	v.Sentence = "No attempt has ended yet."
	if len(crawls) > 0 {
		v.Sentence = fmt.Sprintf("The latest attempts of all domains. The last one ended on %s.",
			explain.StampIn(crawls[0].CompletedAt, time.UTC))
	}
	return v, nil
}

// admitReader admits one of maxEventStreams readers, until leave is called. It refuses others with
// a remedy.
func (s *Server) admitReader(w http.ResponseWriter, remedy string) (leave func(), admitted bool) {
	select {
	case s.eventStreams <- struct{}{}:
		return func() { <-s.eventStreams }, true
	default:
		s.writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "too many readers receive updates: " + remedy})
		return nil, false
	}
}

// beginStream writes the header of a response that lasts longer than a page.
func (s *Server) beginStream(w http.ResponseWriter, control *http.ResponseController, contentType string) {
	// the request is read: its deadline would end the response
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		s.Logger.Warn("could not extend the read deadline of a stream", "error", err)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not delay it
}

// events sends the page's JSON repeatedly, as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request, p page) {
	leave, admitted := s.admitReader(w, "reload the page to update it")
	if !admitted {
		return
	}
	defer leave()
	control := http.NewResponseController(w)
	s.beginStream(w, control, "text/event-stream")
	ticker := time.NewTicker(eventInterval)
	defer ticker.Stop()
	for end := time.Now().Add(maxStreamDuration); time.Now().Before(end); {
		v, err := s.load(r, p)
		if err != nil {
			_, reason := s.status(err)
			v = &head{Sentence: reason, Now: s.Now(), Notice: s.notice(r.Context())}
		}
		data, err := json.Marshal(v)
		if err != nil {
			s.Logger.Error("could not load a live update", "page", p.name, "error", err)
			return
		}
		if err := control.SetWriteDeadline(time.Now().Add(pageTimeout)); err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
