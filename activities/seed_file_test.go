package activities_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/seeds"
)

func (b *testBundle) storeSeedFile(t *testing.T, list activities.SeedFile) (activities.StoreSeedsResult, error) {
	t.Helper()
	return activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeedFile, activities.StoreSeedFileInput{Run: b.run.Name, File: list})
}

//nolint:paralleltest,tparallel // its parts store seeds in one run, one after the other
func TestStoreSeedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("sites.csv", "rank,site\n1,a.example\n2,no site\n3,b.example\n")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("c.example\n"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(filepath.Dir(dir), "secret"), filepath.Join(dir, "link")))
	var many strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&many, "%d,many%d.example\n", i+1, i)
	}
	write("top.csv", many.String())
	b := setup(t, options{seedFiles: activities.SeedFiles{Dir: dir, Cache: t.TempDir()}})

	t.Run("ReadsAFileOfTheWorkers", func(t *testing.T) {
		res, err := b.storeSeedFile(t, activities.SeedFile{Source: seeds.CSV, File: "sites.csv", Column: "site"})
		require.NoError(t, err)
		require.Equal(t, activities.StoreSeedsResult{Added: 2, Refused: 1, Example: res.Example}, res)
		require.Contains(t, res.Example, "line 3: no site: ")
		res, err = b.storeSeedFile(t, activities.SeedFile{Source: seeds.CSV, File: "sites.csv"})
		require.NoError(t, err)
		require.Equal(t, 2, res.Known)
	})

	t.Run("GoesOnWhereItWasInterrupted", func(t *testing.T) {
		list := activities.SeedFile{Source: seeds.Tranco, File: "top.csv"}
		info, err := os.Stat(filepath.Join(dir, "top.csv"))
		require.NoError(t, err)
		key := strings.Join([]string{"worker", "tranco", "", "0", "0", "top.csv", ""}, "\n")
		version := fmt.Sprintf("%d bytes, %s", info.Size(), info.ModTime().UTC())
		require.NoError(t, b.store.StoreSeedFileProgress(t.Context(), b.run.ID, key, version, 10_000))
		res, err := b.storeSeedFile(t, list)
		require.NoError(t, err)
		require.Equal(t, 2_000, res.Added, "10,000 were stored before")
		res, err = b.storeSeedFile(t, list)
		require.NoError(t, err)
		require.Equal(t, activities.StoreSeedsResult{Added: 10_000, Known: 2_000}, res, "whole, it begins anew")
	})

	t.Run("DownloadsFromWhereItMay", func(t *testing.T) {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "d.example") }))
		addr, _ := b.web.Addr(b.site)
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", netip.AddrPortFrom(addr, 0).String())
		require.NoError(t, err)
		require.NoError(t, server.Listener.Close())
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
		res, err := b.storeSeedFile(t, activities.SeedFile{Source: seeds.URLs, URL: server.URL})
		require.NoError(t, err)
		require.Equal(t, 1, res.Added)
		_, err = b.storeSeedFile(t, activities.SeedFile{Source: seeds.URLs, URL: "http://10.1.2.3/list"})
		require.ErrorContains(t, err, "10.1.2.3 is not a public address")
	})

	t.Run("MakesASitemapPartOfTheRun", func(t *testing.T) {
		res, err := b.storeSeedFile(t, activities.SeedFile{Source: seeds.Sitemap, URL: "https://e.example/sitemap.xml"})
		require.NoError(t, err)
		require.Equal(t, 1, res.Added)
		page, err := b.store.Page(t.Context(), "e.example", "https://e.example/sitemap.xml")
		require.NoError(t, err)
		require.Equal(t, kinds.Sitemap, page.Kind)
	})

	for name, c := range map[string]struct {
		list activities.SeedFile
		want string
	}{
		"AFileOutside":         {activities.SeedFile{Source: seeds.URLs, File: "../secret"}, `file "../secret": want the name of a file in the worker's --seed-dir`},
		"AFileThatIsNotThere":  {activities.SeedFile{Source: seeds.URLs, File: "none"}, `file "none": not found in --seed-dir`},
		"NoFile":               {activities.SeedFile{Source: seeds.CSV}, "source csv: want a file or a url"},
		"TwoLists":             {activities.SeedFile{Source: seeds.URLs, File: "a", URL: "https://a.example/"}, "want only one of them"},
		"AnUnknownSource":      {activities.SeedFile{Source: "best", File: "a"}, `source "best": unknown`},
		"AColumnThatIsNot":     {activities.SeedFile{Source: seeds.CSV, File: "sites.csv", Column: "home"}, `column "home": the list has no such column`},
		"ASitemapWithoutItsAt": {activities.SeedFile{Source: seeds.Sitemap}, "source sitemap: want the url of a sitemap"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			_, err := b.storeSeedFile(t, c.list)
			requireBadInput(t, err, c.want)
		})
	}

	t.Run("ReadsNothingThroughALinkOutside", func(t *testing.T) {
		_, err := b.storeSeedFile(t, activities.SeedFile{Source: seeds.URLs, File: "link"})
		require.ErrorContains(t, err, "escapes")
	})
}
