package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/test/bucket"
)

// archiveRows has an archive with the page of a run, and the row of its response.
func archiveRows(t *testing.T) (r *rows, url, dir string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<title>Herons</title><p>Herons stand in the river and wait for fish.")
	}))
	t.Cleanup(s.Close)
	url, dir = s.URL+"/", t.TempDir()
	r = newRows(t, settings.Settings{}, url)
	a, _, err := archive.Open(archive.Config{Dir: dir, Software: "Mosey", UserAgent: "mosey"})
	require.NoError(t, err)
	client, err := fetch.New(fetch.Config{UserAgent: "mosey", AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	require.NoError(t, err)
	resp, err := client.Do(t.Context(), fetch.Request{URL: url, Addr: netip.MustParseAddr("127.0.0.1"), Capture: true})
	require.NoError(t, err)
	defer resp.Release()
	at, err := a.Write(archive.Exchange{Run: r.run.Name, URL: url, IP: "127.0.0.1", At: time.Now(), Capture: resp.Capture})
	require.NoError(t, err)
	require.NoError(t, a.Close(t.Context()))
	data, err := json.Marshal(at)
	require.NoError(t, err)
	r.exec("UPDATE page_crawls SET completed_at = now(), outcome = 'success', status_code = 200, content_type = 'text/html', archived = $1", data)
	r.exec("UPDATE pages SET status = 'fetched', extractor = 1, fetched_at = (SELECT completed_at FROM page_crawls)")
	return r, url, dir
}

func TestArchiveCommands(t *testing.T) {
	t.Parallel()
	r, url, dir := archiveRows(t)
	index := r.Print("archive", "cdxj")
	require.Equal(t, 1, strings.Count(index, "\n"))
	require.Contains(t, index, `{"url":"`+url+`","mime":"text/html","status":"200","digest":"sha256:`)
	require.Equal(t, index, r.Print("archive", "cdxj", "--run", "small-web"))
	require.Contains(t, r.Print("archive", "verify", dir), "1 response in 1 file")

	file := filepath.Join(t.TempDir(), "herons.wacz")
	require.Equal(t, file+": 1 response\n", r.Print("archive", "wacz", dir, file))
	r.Refuse([]string{"archive", "wacz", dir, file}, "exists: name another file")
	r.Refuse([]string{"archive", "cdxj", "--run", "nobody"}, `run "nobody" does not exist`)
	_, err := os.Stat(file)
	require.NoError(t, err)

	require.Equal(t, "1 page read again from the archive\n", r.Print("reprocess", "--from-archive", dir))
	require.Contains(t, r.Print("page", url), `"Herons"`)
	require.Contains(t, r.Print("search", "fish"), url)
	require.Equal(t, "0 pages read again from the archive\n", r.Print("reprocess", "--from-archive", dir))
	require.Equal(t, "1 page read again from the archive\n", r.Print("reprocess", "--from-archive", dir, "--all"))
	require.Equal(t, "0 pages read again from the archive\n", r.Print("reprocess", "--from-archive", dir, "--all", "--domain", aDomain))

	blocked := []string{"block", "127.0.0.1", "--reason", "asked", "--forget"}
	r.Fail(blocked, "its responses are still in the archive: give the command again with the workers' --archive")
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	require.Contains(t, r.Print(append(blocked, "--archive", copied)...), "the content of 1 page is erased")
	require.Contains(t, r.Execute("archive", "cdxj").Stderr, "no response is archived")
}

func TestDamagedArchive(t *testing.T) {
	t.Parallel()
	r, url, dir := archiveRows(t)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(files[0]))
	r.Fail([]string{"archive", "verify", dir}, "1 of 1 archived response damaged or missing in "+dir)
	r.Fail([]string{"archive", "wacz", dir, filepath.Join(dir, "a.wacz")}, "is missing in "+dir)
	_, err = os.Stat(filepath.Join(dir, "a.wacz.tmp"))
	require.ErrorIs(t, err, os.ErrNotExist)
	r.Fail([]string{"reprocess", "--from-archive", dir, "--all"}, "1 page could not be read, such as "+url)
	_, err = r.store.EnsureRun(t.Context(), "empty", "test", settings.Settings{})
	require.NoError(t, err)
	require.Contains(t, r.Execute("archive", "cdxj", "--run", "empty").Stderr, "no response is archived; mosey crawl --archive DIR archives them")
	r.Refuse([]string{"crawl", "--archive", "gs://bucket", url}, "--archive: ", "unknown scheme gs://")
}

// Archives in a bucket have the same commands.
func TestArchiveInABucket(t *testing.T) {
	t.Parallel()
	r, _, dir := archiveRows(t)
	from := bucket.Start(t).Anonymous()
	blocked := []string{"block", "127.0.0.1", "--reason", "asked", "--forget", "--archive", from}
	r.Fail(blocked, "1 archived response of it not erased: ", "its worker may not have uploaded it yet: give the command again later")
	store, err := imagestore.Open(t.Context(), from)
	require.NoError(t, err)
	a, _, err := archive.Open(archive.Config{Dir: dir, Bucket: &imagestore.Files{Store: store, Prefix: "warc/"}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, a.Close(t.Context()))
	require.Contains(t, r.Print("archive", "verify", from), "1 response in 1 file")
	file := filepath.Join(t.TempDir(), "herons.wacz")
	require.Equal(t, file+": 1 response\n", r.Print("archive", "wacz", from, file))
	require.Contains(t, r.Print(blocked...), "the content of 1 page is erased")
	require.Contains(t, r.Execute("archive", "cdxj").Stderr, "no response is archived")
	r.Refuse([]string{"archive", "verify", "s3://x?region=%"}, "parameters of the URL cannot be parsed")
}
