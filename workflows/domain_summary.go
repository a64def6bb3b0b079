package workflows

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/urls"
)

// waitSummary puts the reason for a wait first, because a long URL may be cut off.
func (s DomainState) waitSummary() string {
	target := s.URL
	if s.Next == activities.StepRobots {
		target = s.prerequisite()
	}
	switch {
	case target == "":
		return strings.TrimPrefix(string(s.Reason)+": no page is due yet", ": ")
	case s.Reason == "":
		return target
	}
	return string(s.Reason) + ", then " + target
}

func (s DomainState) prerequisite() string {
	return path.Base(cmp.Or(s.Kind, kinds.Robots).Traits().Path) + " of " + s.Origin
}

func (d *domain) fetchSummary() string {
	switch {
	case d.state.URL == "":
		return "next page of " + d.name
	case d.pagesPerActivity > 1:
		return urls.Shorten(d.state.URL, summaryMax-30) + fmt.Sprintf(" and up to %d more pages", d.pagesPerActivity-1)
	default:
		return urls.Shorten(d.state.URL, summaryMax)
	}
}

// details returns Markdown for Temporal's UI: the present or next action, then the known facts.
func (d *domain) details(now time.Time) string {
	var text strings.Builder
	text.WriteString("The workflow of **" + d.name + "** " + d.state.actionText(now) + ".\n")
	addLine := func(name, value string) {
		if value != "" {
			text.WriteString("\n- " + name + ": " + value)
		}
	}
	s := d.state
	if s.LastRequest.URL != "" {
		addLine("Last request", markdownCode(s.LastRequest.URL)+", "+markdownCode(s.LastRequest.ResultText()))
	}
	if s.Summary.Reason != "" {
		addLine("Delay after a page", time.Duration(s.Summary.Delay).Round(time.Second/10).String()+reasonSuffix(s.Summary.Reason))
	}
	addLine("robots.txt", robotsLabels[s.Summary.Robots])
	addLine("Health", s.Summary.Health)
	addLine("Attempts", s.attempts())
	if p := s.Pending; p != nil {
		addLine("Pending", pendingText(*p)+" at "+formatTime(s.CountedAt))
	}
	addLine("Runs", strings.Join(s.Runs, ", "))
	return text.String()
}

var robotsLabels = map[crawl.RobotsVerdict]string{
	crawl.RobotsRules: "has rules", crawl.RobotsAllowAll: "allows all", crawl.RobotsDisallowAll: "disallows all",
	crawl.RobotsUnreachable: "unreachable",
}

// actionText describes the domain's action at an instant, with its end.
func (s DomainState) actionText(now time.Time) string {
	until := formatTime(now.Add(time.Duration(s.Wait)))
	switch {
	case s.Next == activities.StepFinish && s.Wait > 0:
		return "ends until " + until + ": " + cmp.Or(string(s.Reason), "no page is due")
	case s.Next == activities.StepFinish:
		return "ends: " + cmp.Or(string(s.Reason), "no page is due")
	case s.Wait > 0 && s.Next == activities.StepRobots:
		return "waits until " + until + reasonSuffix(s.Reason) + ", then requests " + s.prerequisite()
	case s.Wait > 0 && s.URL == "":
		return "waits until " + until + reasonSuffix(s.Reason)
	case s.Wait > 0:
		return "waits until " + until + reasonSuffix(s.Reason) + ", then requests " + markdownCode(s.URL)
	case s.Next == activities.StepRobots:
		return "requests " + s.prerequisite()
	case s.URL != "":
		return "requests " + markdownCode(s.URL)
	}
	return "requests the pages that are due"
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func pendingText(p activities.Pending) string {
	switch {
	case p.HasMore:
		return fmt.Sprintf("more than %d requests", p.Requests)
	case p.Requests == 1:
		return "1 request"
	}
	return fmt.Sprintf("%d requests", p.Requests)
}

func reasonSuffix(r reasons.Reason) string {
	if r == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", r, r.Row().Explanation)
}

func (s DomainState) attempts() string {
	parts := make([]string, 0, len(s.Outcomes))
	for _, o := range crawl.Outcomes() {
		if n := s.Outcomes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.Word(0)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " (since this workflow began)"
}

func markdownCode(text string) string { return "`" + strings.ReplaceAll(text, "`", "%60") + "`" }
