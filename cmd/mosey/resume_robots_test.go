package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// A robots.txt that could not be read is requested again at the time that is shown, however often
// the run is started meanwhile. A person may have it requested sooner.
func TestResumeKeepsTheTimeOfRobots(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := site{web.StartT(t, web.Options{Sites: []web.Site{
		{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/robots.txt": answers(503, "")}},
	}})}
	origin := strings.TrimSuffix(s.Seeds()[0], "/")
	c := h.Start(s.crawl(s.Seeds()[0])...)
	wait.Until(t, func() bool { return len(s.Log()) == 1 }, patience, 5*time.Millisecond)
	wait.Until(t, func() bool {
		r, err := store.Robots(t.Context(), origin)
		return err == nil && r.Verdict == crawl.RobotsUnreachable
	}, patience, 5*time.Millisecond)
	// as after further tries, which take minutes
	_, err := store.SaveRobots(t.Context(), crawl.Robots{
		Origin: origin, Domain: siteDomain, Agent: "mosey", Verdict: crawl.RobotsUnreachable, StatusCode: 503,
		Reason: "answered 503", Failed: true, Lifetime: crawl.Millis(time.Hour),
	})
	require.NoError(t, err)
	put, err := store.Robots(t.Context(), origin)
	require.NoError(t, err)
	says := []string{
		"  " + origin + ": robots.txt is unreachable. Mosey requests it again from " + explain.Stamp(put.ExpiresAt) + " on, or at once",
		" after mosey retry " + siteDomain + ": answered 503",
	}
	r := c.Wait()
	require.Equal(t, wiring.ExitFailed, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout, says...)
	r = h.Execute(s.crawl()...)
	require.Equal(t, wiring.ExitFailed, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout, says...)
	output.ContainsOnSameLine(t, h.Print("why", siteDomain), explain.Stamp(put.ExpiresAt))
	require.Len(t, s.Log(), 1, "a start of the run has hurried the host")

	h.Print("retry", siteDomain)
	c = h.Start(s.crawl()...)
	wait.Until(t, func() bool { return len(s.Log()) == 2 }, patience, 5*time.Millisecond)
	require.Zero(t, c.Stop().Code)
}

// A run that is resumed goes on with the workflows that it has: none ends and is started anew.
func TestAResumedRunContinuesItsWorkflows(t *testing.T) {
	t.Parallel()
	const sites = 8
	h, _ := newHarnessWithStack(t)
	s := newSite(t, sites, 50)
	executions := func() map[string]string {
		ids := make(map[string]string)
		for _, host := range s.Hosts() {
			d, err := h.client().DescribeWorkflowExecution(t.Context(), crawl.DomainWorkflowID(host), "")
			require.NoError(t, err)
			ids[host] = d.GetWorkflowExecutionInfo().GetFirstRunId()
		}
		return ids
	}
	pages := func() int { return len(s.Log().Pages()) }
	args := s.crawl("--delay", "500ms", "--run", "resumed")
	c := h.Start(append(args, s.Seeds()...)...)
	wait.Until(t, func() bool { return pages() >= 3*sites }, patience, 5*time.Millisecond)
	require.Zero(t, c.Stop().Code)
	before, were := executions(), pages()
	c = h.Start(args...)
	wait.Until(t, func() bool { return pages() >= were+3*sites }, patience, 5*time.Millisecond)
	require.Zero(t, c.Stop().Code)
	require.Equal(t, before, executions())
}
