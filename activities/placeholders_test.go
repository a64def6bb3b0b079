package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/manners/web"
)

// parked is a page of a parking service, with its advertisements.
var parked = page{
	head: `<script src="//www.sedoparking.com/frmpark/a.example/x/park.js"></script>`,
	body: lighthouse + `<a href="/advertised">Lighthouses</a>`,
}

// nginx sends the default page of nginx.
func nginx(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html")
	v.Write([]byte("<!doctype html><title>Welcome to nginx!</title><p>The nginx web server is successfully installed and working."))
}

// A page in place of a site is named, neither found nor followed, and no refusal. If the domain has
// no other pages, that names the domain, too.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		front, other web.Behaviour
		reason       reasons.Reason
		domain       reasons.Reason
	}{
		"Parked":      {parked, parked, reasons.Parked, reasons.Parked},
		"DefaultPage": {turns{answers: []func(*web.Visit){nginx}}, turns{answers: []func(*web.Visit){answers(404)}}, reasons.DefaultPage, reasons.DefaultPage},
		"OnlyOne":     {parked, page{body: lighthouse}, reasons.Parked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": c.front, "/other": c.other})})
			b.seed(t, "/", "/other")
			b.follow(t)
			require.ElementsMatch(t, []string{"/", "/other"}, b.pages())
			attempt := b.report(t, "/").Crawls[0]
			require.Equal(t, crawl.OutcomeSuccess, attempt.Outcome)
			require.Equal(t, c.reason, attempt.Skipped)
			require.NotContains(t, b.found(t, "lighthouse"), "/")
			require.NoError(t, b.store.CountDomains(t.Context(), func(int64) {}))
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, c.domain, d.Placeholder)
			require.False(t, d.Health.Samples[0].Refused)
			listed, err := b.store.Domains(t.Context(), report.DomainQuery{Status: crawl.DomainStatus(c.reason), Sort: "priority", Limit: 10})
			require.NoError(t, err)
			require.Equal(t, c.domain != "", len(listed) == 1)
		})
	}
}
