package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/web"
)

// TestHostile lets all hostile hosts at a crawl at once: bombs, endless answers,
// broken protocols, traps, rebinding names. What has to hold is the healthy
// sites' coverage and every promise; traps are endless, so the run is not waited
// for.
func TestHostile(t *testing.T) { //nolint:paralleltest // bombs would slow the others' servers down
	const redirectsAway = "away.hostile.test"
	s := newSite(t, web.Options{Sites: append(web.Uniform(4, web.Site{Pages: 10}), web.Hostile()...)})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, s.RootCA(), 0o600))
	dir := dataDir(t)
	p := start(t, environ("SSL_CERT_FILE="+ca), moseyBin, crawlArgs(s, dir, "--for", "45s")...)
	require.Zero(t, p.wait(t, crawlLimit), p.out)

	r := web.Judge(s.Log(), web.Expectations{Plan: s.Plan, Delay: delay, UserAgent: "mosey/", Partial: true})
	require.Zero(t, r.Forbidden)
	for _, v := range r.Violations() {
		// a seed that moves takes its scope along, which the plan does not know
		if v.Kind != web.KindExtra || v.Key != redirectsAway {
			require.Fail(t, v.String())
		}
	}
	for _, host := range s.Hosts()[:4] {
		require.NotEmpty(t, pagesOf(s.Log(), host), host)
	}
	require.True(t, audit(t, dir).Clean())
}

func pagesOf(log web.Log, host string) (pages web.Log) {
	for _, r := range log.Pages() {
		if r.Domain() == host {
			pages = append(pages, r)
		}
	}
	return pages
}
