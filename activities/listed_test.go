package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/lists"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// A list of networks holds for running crawls, whatever the host is called.
func TestListedNetwork(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 200, Plain: true}}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	_, err := b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"/"}, b.pages())

	addr, _ := b.web.Addr(b.site)
	entry, err := lists.Parse(addr.String())
	require.NoError(t, err)
	_, err = b.store.AddToList(t.Context(), lists.Block, []lists.Entry{entry}, "the owner asked", "tester")
	require.NoError(t, err)
	wait.Until(t, func() bool {
		b.age(t, 10*time.Second)
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		facts, err := b.store.Facts(t.Context(), b.site)
		require.NoError(t, err)
		return facts.Domain.Reason == b.site+" has the address "+addr.String()+", which is on the block list ("+entry.Text+"), as set by tester"
	}, 20*time.Second, 100*time.Millisecond)
	asked := b.pages()
	b.age(t, 10*time.Second)
	_, err = b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, asked, b.pages(), "it is not asked any more")

	_, err = b.store.RemoveFromList(t.Context(), lists.Block, false, []lists.Entry{entry})
	require.NoError(t, err)
	b.age(t, 10*time.Second)
	_, err = b.fetchPages(t, 10)
	require.NoError(t, err)
	require.Greater(t, len(b.pages()), len(asked))
}
