package plans

import (
	"testing"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// forgetCases erase what the pages of a domain said.
func forgetCases(changing changes) {
	changing["Forget"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, s := range []int64{0, sitePlain} {
			domain := site(s)
			c.done(c.q.ForgetAsk(ctx, dbsqlc.ForgetAskParams{Domain: domain, AskedBy: "test", Reason: "test"}))
			c.ok(c.q.ForgottenGet(ctx, domain))
			c.ok(c.q.ForgottenOpen(ctx, 10))
			c.ok(c.q.ForgetInFlight(ctx, domain))
			next, err := c.q.ForgetNext(ctx, dbsqlc.ForgetNextParams{Domain: domain, Most: 500})
			c.ok(next, err)
			var pages []int64
			for _, p := range next {
				pages = append(pages, p.ID)
			}
			named, err := c.q.ForgetNamed(ctx, dbsqlc.ForgetNamedParams{Domain: domain, Pages: pages})
			c.ok(named, err)
			c.ok(c.q.ForgetAlone(ctx, dbsqlc.ForgetAloneParams{Domain: domain, Pages: append(named, pages...)}))
			c.ok(c.q.ForgetCalled(ctx, dbsqlc.ForgetCalledParams{Domain: domain, Pages: pages}))
			c.ok(c.q.ForgetLinked(ctx, dbsqlc.ForgetLinkedParams{Domain: domain, Pages: pages}))
			c.ok(c.q.ForgetCount(ctx, dbsqlc.ForgetCountParams{Domain: domain, Pages: pages}))
			c.ok(c.q.ForgetContents(ctx, pages))
			c.ok(c.q.ForgetPending(ctx, pages[:min(len(pages), 20)]))
			c.ok(c.q.ForgetImages(ctx, pages))
			c.ok(c.q.ForgetPages(ctx, pages))
			c.ok(c.q.ForgetPages(ctx, pages))
			c.ok(c.q.ForgetPatterns(ctx, dbsqlc.ForgetPatternsParams{Domain: domain, Most: 500}))
			c.ok(c.q.ForgetRobots(ctx, domain))
			c.done(c.q.ForgetDone(ctx, domain))
		}
		after, err := c.q.ForgetContentsAfter(ctx, dbsqlc.ForgetContentsAfterParams{Most: 500})
		c.ok(after, err)
		var hashes []string
		for _, x := range after {
			hashes = append(hashes, x.Sha256Hash)
		}
		c.ok(c.q.ForgetContentsDrop(ctx, hashes))
	}
}
