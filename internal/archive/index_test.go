package archive_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/archive"
)

// rows are the rows of responses, by origin.
type rows map[string][]report.ArchivedResponse

func (r rows) ArchivedOrigins(context.Context, *int64) ([]report.ArchivedOrigin, error) {
	var all []report.ArchivedOrigin
	for origin := range maps.Keys(r) {
		all = append(all, report.ArchivedOrigin{Origin: origin})
	}
	return all, nil
}

func (r rows) ArchivedResponses(_ context.Context, of report.ArchivedOrigin, _ *int64) ([]report.ArchivedResponse, error) {
	return r[of.Origin], nil
}

func TestKey(t *testing.T) {
	t.Parallel()
	for address, key := range map[string]string{ // as warcio 2.4.11 writes them
		"http://example.org/":                        "org,example)/",
		"https://www.example.org/A/b":                "org,example)/a/b",
		"https://www2.Example.org/?b=2&a=1&B=1":      "org,example)/?a=1&b=1&b=2",
		"http://example.org:8080/x":                  "org,example:8080)/x",
		"https://example.org/%C3%84?x":               "org,example)/%c3%84?x",
		"http://127.0.0.1/a":                         "1,0,0,127)/a",
		"http://[::1]:8080/a":                        "[::1]:8080)/a",
		"https://wwwexample.org/":                    "org,wwwexample)/",
		"https://xn--mnchen-3ya.example/path//to/x/": "example,xn--mnchen-3ya)/path//to/x/",
	} {
		require.Equal(t, key, archive.Key(address))
	}
}

// TestIndexIsSorted has origins whose keys begin alike.
func TestIndexIsSorted(t *testing.T) {
	t.Parallel()
	index := rows{}
	for _, origin := range []string{
		"http://example.org", "https://example.org", "https://www.example.org", "http://example.org:8080", "http://a.example.org",
		"http://example.org-x.test", "http://example.orgx",
	} {
		for _, path := range []string{"/b", "/", "/a?x=1", "/a"} {
			index[origin] = append(index[origin], report.ArchivedResponse{URL: origin + path, StatusCode: 200, ContentType: "text/html; charset=x"})
		}
	}
	var out bytes.Buffer
	lines, err := archive.WriteCDXJ(t.Context(), index, nil, &out)
	require.NoError(t, err)
	require.Equal(t, 28, lines)
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	var keys []string
	for _, line := range got {
		keys = append(keys, strings.Join(strings.Fields(line)[:2], " "))
	}
	require.True(t, slices.IsSorted(keys), strings.Join(keys, "\n"))
	require.Contains(t, got[0], `"mime":"text/html","status":"200"`)
}

// stored archives pages, and returns their rows.
func stored(t *testing.T, dir string) (rows, string) {
	t.Helper()
	url := site(t)
	a, _ := open(t, archive.Config{Dir: dir})
	index := rows{}
	var last *crawl.Archived
	for _, path := range []string{"/10", "/1000", "/1000", "/100000"} {
		x, _ := get(t, url+path, nil)
		if path == "/1000" {
			x.Earlier = last
		}
		at, err := a.Write(x)
		require.NoError(t, err)
		if last = &at; path != "/1000" {
			last = nil
		}
		index[url] = append(index[url], report.ArchivedResponse{
			URL: url + path, StatusCode: 200, ContentType: "text/plain", Kind: kinds.Page, Title: "T", Archived: at,
		})
	}
	require.NoError(t, a.Close(t.Context()))
	return index, url
}

func verify(t *testing.T, dir string, index rows) (damaged []string) {
	t.Helper()
	return verifyIn(t, archive.Directory(dir), index)
}

func verifyIn(t *testing.T, from archive.Place, index rows) (damaged []string) {
	t.Helper()
	v, err := archive.Verify(t.Context(), from, index, nil, func(r archive.Response, err error) {
		damaged = append(damaged, r.URL+" "+err.Error())
	}, func(archive.Verification) {})
	require.NoError(t, err)
	require.Equal(t, 4, v.Responses)
	require.Equal(t, len(damaged), v.Damaged)
	return damaged
}

func TestVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index, url := stored(t, dir)
	require.Empty(t, verify(t, dir, index))
	require.True(t, index[url][2].Archived.Revisit)

	first := &index[url][0]
	for _, change := range []func(){
		func() { first.URL = url + "/x" }, func() { first.Archived.Digest = "sha256:x" }, func() { first.Archived.Offset++ },
		func() { first.Archived.Length-- }, func() { first.Archived.File = "x" + archive.Suffix }, func() { first.Archived.Revisit = true },
		func() { first.Archived.At = first.Archived.At.AddDate(0, 0, 1) },
	} {
		before := *first
		change()
		require.Len(t, verify(t, dir, index), 1)
		*first = before
	}
	path := filepath.Join(dir, first.Archived.File)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[first.Archived.Offset+first.Archived.Length-20] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	require.Len(t, verify(t, dir, index), 1)
}

func TestWACZ(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index, url := stored(t, dir)
	var out bytes.Buffer
	n, err := archive.WriteWACZ(t.Context(), archive.Directory(dir), index, nil, "Title", "Mosey", &out)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	contents := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		contents[f.Name], err = io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, strings.HasPrefix(f.Name, "archive/"), f.Method == zip.Store, "records are read by their offset")
	}
	var description struct {
		Resources []struct {
			Path, Hash string
			Bytes      int
		}
	}
	require.NoError(t, json.Unmarshal(contents["datapackage.json"], &description))
	require.Len(t, description.Resources, 3)
	for _, r := range description.Resources {
		sum := sha256.Sum256(contents[r.Path])
		require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), r.Hash)
		require.Len(t, contents[r.Path], r.Bytes)
	}
	sum := sha256.Sum256(contents["datapackage.json"])
	require.Contains(t, string(contents["datapackage-digest.json"]), hex.EncodeToString(sum[:]))
	pages := strings.Split(strings.TrimSpace(string(contents["pages/pages.jsonl"])), "\n")
	require.Len(t, pages, 4, "a head, and three pages without the revisit")
	require.Contains(t, pages[1], `"title":"T"`)
	require.Contains(t, pages[1], `"url":"`+url)
	require.Equal(t, 4, strings.Count(string(contents["indexes/index.cdxj"]), "\n"))
	name := "archive/" + index[url][0].Archived.File
	require.NoError(t, os.WriteFile(filepath.Join(dir, "copy"+archive.Suffix), contents[name], 0o600))
	require.Len(t, records(t, filepath.Join(dir, "copy"+archive.Suffix)), 9)
}
