package manners

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/manners/web"
)

// Report is a judgement for people and programs. It holds crawlers' input cleaned and cut. The JSON
// names of its fields do not change.
type Report struct {
	Crawler string    `json:"crawler,omitempty"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	Agent   string    `json:"agent,omitempty"`
	// Delay is in seconds.
	Delay   float64 `json:"delay_seconds"`
	Proxied bool    `json:"proxied"`
	// Truncated is set if the log ended in the middle of a line.
	Truncated bool `json:"cut"`
	// Requests counts all requests of the run, and connections without one.
	Requests int `json:"requests"`
	// UserAgents are the most frequent ones, at most 5.
	UserAgents []string `json:"user_agents"`
	// Failed counts the failed cases that are not opinions.
	Failed  int            `json:"failed"`
	Results map[Result]int `json:"results"`
	Cases   []Finding      `json:"cases"`

	kills []Event
	span  time.Duration // of all time axes
}

// Finding is the judgement of one case.
type Finding struct {
	ID       string        `json:"id"`
	Group    Group         `json:"group"`
	Level    Level         `json:"level"`
	Source   string        `json:"source"`
	Title    string        `json:"title"`
	Result   Result        `json:"result"`
	Reason   string        `json:"reason"`
	Hosts    []string      `json:"hosts"`
	Requests int           `json:"requests"`
	Seen     []SeenRequest `json:"seen,omitempty"`

	logs []web.Log // of each host
	seen map[seenKey]bool
}

// SeenRequest is a request that proves a verdict. Its times are in seconds since the start of the
// web.
type SeenRequest struct {
	Host   string  `json:"host"`
	Method string  `json:"method"`
	Target string  `json:"target"`
	Status int     `json:"status"`
	Start  float64 `json:"start_seconds"`
	End    float64 `json:"end_seconds"`
}

// seenKey identifies a request within a log.
type seenKey struct {
	conn  int64
	start time.Duration
}

func keyOf(r web.Record) seenKey { return seenKey{r.Conn, r.Start} }

// Fails reports whether a finding breaks a standard.
func (f Finding) Fails() bool { return f.Result == Fail && f.Level != Opinion }

// Bounds of displayed input from a crawler.
const (
	maxNameBytes   = 200
	maxTargetBytes = 120
	maxReasonBytes = 500
	maxUserAgents  = 5
)

// Report judges the run and reports the result.
func (r Run) Report() (*Report, error) {
	judged, err := r.Judge()
	if err != nil {
		return nil, err
	}
	p := &Report{
		Crawler: clean(r.Crawler, maxNameBytes), Version: clean(r.Version, maxNameBytes), Started: r.Started.UTC(),
		Agent: r.Options.Agent, Delay: r.Options.Delay.Seconds(), Proxied: r.Options.Proxied, Truncated: r.Truncated,
		Requests: len(r.Log), UserAgents: userAgents(r.Log), Results: make(map[Result]int), span: time.Second,
	}
	for _, result := range Results() {
		p.Results[result] = 0
	}
	for _, e := range r.Events {
		p.kills = append(p.kills, e)
		p.span = max(p.span, e.At)
	}
	hosts := make(map[string]web.Log)
	log := slices.Clone(r.Log)
	slices.SortStableFunc(log, func(a, b web.Record) int { return cmp.Compare(a.Start, b.Start) })
	for _, rec := range log {
		p.span = max(p.span, rec.End)
		name := strings.TrimSuffix(hostName(rec.Host), ".")
		hosts[name] = append(hosts[name], rec)
	}
	for _, j := range judged {
		f := finding(j, hosts)
		p.Results[f.Result]++
		if f.Fails() {
			p.Failed++
		}
		p.Cases = append(p.Cases, f)
	}
	return p, nil
}

func finding(j Judged, hosts map[string]web.Log) Finding {
	f := Finding{
		ID: j.ID, Group: j.Group, Level: j.Level, Source: j.Source, Title: j.Title, Result: j.Result,
		Reason: clean(j.Reason, maxReasonBytes), Hosts: j.Hosts, seen: make(map[seenKey]bool),
	}
	for _, rec := range j.Seen {
		f.seen[keyOf(rec)] = true
		f.Seen = append(f.Seen, SeenRequest{
			Host: clean(rec.Host, maxNameBytes), Method: clean(rec.Method, maxNameBytes), Target: clean(rec.Target, maxTargetBytes),
			Status: rec.Status, Start: seconds(rec.Start), End: seconds(rec.End),
		})
	}
	for _, host := range j.Hosts {
		f.Requests += len(hosts[host])
		f.logs = append(f.logs, hosts[host])
	}
	return f
}

// ByGroup returns the findings of a group, the worst first.
func (p *Report) ByGroup(g Group) []Finding {
	var found []Finding
	for _, f := range p.Cases {
		if f.Group == g {
			found = append(found, f)
		}
	}
	results, levels := Results(), []Level{Must, Should, Opinion}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(results, a.Result), slices.Index(results, b.Result)),
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)))
	})
	return found
}

// Summary returns the report in one line.
func (p *Report) Summary() string {
	var parts []string
	for _, result := range slices.Backward(Results()) {
		if n := p.Results[result]; n > 0 || result == Pass || result == Fail {
			parts = append(parts, fmt.Sprintf("%d %s", n, result))
		}
	}
	line := fmt.Sprintf("%d cases: %s", len(p.Cases), strings.Join(parts, ", "))
	if opinions := p.Results[Fail] - p.Failed; opinions > 0 {
		line += fmt.Sprintf(" (%d of these a matter of opinion)", opinions)
	}
	return line
}

// WriteJSON writes the report as JSON.
func (p *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		return fmt.Errorf("manners: write report: %w", err)
	}
	return nil
}

func userAgents(log web.Log) []string {
	count := make(map[string]int)
	for _, r := range log {
		if r.Host != "" {
			count[clean(r.UserAgent, maxNameBytes)]++
		}
	}
	agents := make([]string, 0, len(count))
	for name := range count {
		agents = append(agents, name)
	}
	slices.SortFunc(agents, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return agents[:min(len(agents), maxUserAgents)]
}

// clean makes a crawler's text safe to display. It replaces characters that are not printable or
// change the direction of the text, and cuts the text after limit bytes.
func clean(s string, limit int) string {
	truncated := len(s) > limit
	if truncated {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1] // the rest of a character
		}
		if last := len(s) - 1; last >= 0 && s[last] >= utf8.RuneSelf {
			s = s[:last]
		}
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, s)
	if truncated {
		s += "…"
	}
	return s
}

func seconds(d time.Duration) float64 {
	return d.Round(time.Millisecond).Seconds()
}
