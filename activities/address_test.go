package activities_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
)

// deadFirst names an address where nobody listens before each host's own.
type deadFirst struct {
	activities.Resolver

	dead netip.Addr
}

func (r deadFirst) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, err := r.Resolver.Lookup(ctx, host)
	return append([]netip.Addr{r.dead}, addrs...), err
}

// A host's next address is tried when the first cannot be connected to, and the
// first no more for a while.
func TestNextAddress(t *testing.T) {
	t.Parallel()
	dead := netip.MustParseAddr("127.127.127.127")
	b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true}}})
	b.acts = b.worker(t, options{
		resolve: func(r activities.Resolver) activities.Resolver { return deadFirst{r, dead} },
		allow:   netip.PrefixFrom(dead, 32),
	})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	_, err := b.fetchPages(t, 10)
	require.LessOrEqual(t, requireSiteFailure(t, err), 3*time.Second)
	crawls := b.report(t, "/").Crawls
	require.Equal(t, dead.String(), crawls[1].IP)
	require.Contains(t, crawls[1].Error, "connect")

	b.age(t, time.Minute)
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
	for range 3 {
		if _, err = b.fetchPages(t, 10); err == nil {
			break
		}
		b.age(t, time.Minute)
	}
	addr, _ := b.web.Addr(b.site)
	require.Equal(t, []string{"/", "/p/1", "/p/2"}, b.pages(), "the broken address is asked once")
	for _, target := range b.pages() {
		last := b.report(t, target).Crawls[0]
		require.Equal(t, crawl.OutcomeSuccess, last.Outcome)
		require.Equal(t, addr.String(), last.IP)
	}
}
