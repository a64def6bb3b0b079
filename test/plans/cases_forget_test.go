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
			c.done(c.q.ErasureRequest(ctx, dbsqlc.ErasureRequestParams{Domain: domain, RequestedBy: "test", Reason: "test"}))
			c.ok(c.q.ErasureGet(ctx, domain))
			c.ok(c.q.ErasuresPending(ctx, 10))
			c.ok(c.q.ForgetInFlight(ctx, domain))
			next, err := c.q.ForgetNext(ctx, dbsqlc.ForgetNextParams{Domain: domain, Max: 500})
			c.ok(next, err)
			var pages []int64
			for _, p := range next {
				pages = append(pages, p.ID)
			}
			named, err := c.q.ForgetForeignImages(ctx, dbsqlc.ForgetForeignImagesParams{Domain: domain, Pages: pages})
			c.ok(named, err)
			c.ok(c.q.ForgetUnsharedImages(ctx, dbsqlc.ForgetUnsharedImagesParams{Domain: domain, Pages: append(named, pages...)}))
			c.ok(c.q.ForgetAnchoredPages(ctx, dbsqlc.ForgetAnchoredPagesParams{Domain: domain, Pages: pages}))
			c.ok(c.q.ForgetArchived(ctx, pages))
			c.done(c.q.ForgetArchivedDone(ctx, pages[:1]))
			c.ok(c.q.ForgetLinked(ctx, dbsqlc.ForgetLinkedParams{Domain: domain, Pages: pages}))
			c.ok(c.q.ForgetCount(ctx, dbsqlc.ForgetCountParams{Domain: domain, Pages: pages}))
			c.ok(c.q.ForgetContents(ctx, pages))
			c.ok(c.q.ForgetPending(ctx, pages[:min(len(pages), 20)]))
			c.ok(c.q.ForgetImages(ctx, pages))
			c.ok(c.q.ForgetPages(ctx, pages))
			c.ok(c.q.ForgetPages(ctx, pages))
			c.ok(c.q.ForgetPatterns(ctx, dbsqlc.ForgetPatternsParams{Domain: domain, Max: 500}))
			c.ok(c.q.ForgetRobots(ctx, domain))
			c.done(c.q.ErasureComplete(ctx, domain))
		}
		after, err := c.q.ForgetContentsAfter(ctx, dbsqlc.ForgetContentsAfterParams{Max: 500})
		c.ok(after, err)
		var hashes []string
		for _, x := range after {
			hashes = append(hashes, x.Sha256Hash)
		}
		c.ok(c.q.ForgetContentsDrop(ctx, hashes))
	}
}
