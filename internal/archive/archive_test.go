package archive_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/nlnwa/gowarc/v3"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/fetch"
)

// site serves n bytes of text at /n, and 304 to a condition.
func site(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/random/%d", &n); err == nil {
			_, _ = io.CopyN(w, rand.NewChaCha8([32]byte{}), int64(n))
			return
		}
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		_, _ = io.WriteString(w, strings.Repeat("0123456789", n/10))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// get requests a page, and returns the exchange and its body.
func get(t *testing.T, url string, header http.Header) (archive.Exchange, []byte) {
	t.Helper()
	client, err := fetch.New(fetch.Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, UserAgent: "mosey-test/1.0"})
	require.NoError(t, err)
	now := time.Now()
	response, err := client.Do(t.Context(), fetch.Request{URL: url, Addr: netip.MustParseAddr("127.0.0.1"), Header: header, Capture: true})
	require.NoError(t, err)
	t.Cleanup(response.Release)
	return archive.Exchange{
		Run: "test", Settings: settings.Settings{Delay: new(settings.Duration(time.Second))}, URL: url, IP: "127.0.0.1", At: now, Capture: response.Capture,
		NotModified: response.Status == http.StatusNotModified,
	}, bytes.Clone(response.Body)
}

func open(t *testing.T, config archive.Config) (*archive.Archive, []string) {
	t.Helper()
	config.Software, config.UserAgent = "Mosey", "mosey-test/1.0"
	a, repaired, err := archive.Open(config)
	require.NoError(t, err)
	return a, repaired
}

// outside guards gowarc, which changes a variable of another package at each call.
var outside sync.Mutex

// records reads all records of a file strictly.
func records(t *testing.T, path string) []gowarc.WarcRecord {
	t.Helper()
	outside.Lock()
	defer outside.Unlock()
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation())
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var all []gowarc.WarcRecord
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		_, err = record.WarcRecord.ValidateDigest()
		require.NoError(t, err)
		all = append(all, record.WarcRecord)
	}
}

// body reads the archived body.
func body(t *testing.T, dir, url string, at crawl.Archived) []byte {
	t.Helper()
	var got []byte
	require.NoError(t, archive.Read(t.Context(), archive.Directory(dir), at, func(of string, r io.Reader) error {
		require.Equal(t, url, of)
		response, err := fetch.Replay(r, fetch.MaxBodyBytesDefault)
		if err == nil {
			got = bytes.Clone(response.Body)
			response.Release()
		}
		return err
	}))
	return got
}

func TestArchive(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), site(t)
	a, repaired := open(t, archive.Config{Dir: dir})
	require.Empty(t, repaired)

	x, sent := get(t, url+"/1000", nil)
	first, err := a.Write(x)
	require.NoError(t, err)
	require.Equal(t, sent, body(t, dir, x.URL, first), "while the file is written")
	x, _ = get(t, url+"/1000", nil)
	x.Earlier = &first
	second, err := a.Write(x)
	require.NoError(t, err)
	require.True(t, second.Revisit)
	require.Equal(t, first.Digest, second.Digest)
	x, _ = get(t, url+"/1000", http.Header{"If-None-Match": {`"a"`}})
	x.Earlier = &first
	third, err := a.Write(x)
	require.NoError(t, err)
	require.True(t, third.Revisit)
	x, sent = get(t, url+"/200000", nil)
	x.Earlier = &first
	fourth, err := a.Write(x)
	require.NoError(t, err)
	require.False(t, fourth.Revisit)
	require.NoError(t, a.Close(t.Context()))
	require.Equal(t, sent, body(t, dir, x.URL, fourth), "after it is complete")

	all := records(t, filepath.Join(dir, first.File))
	kinds := make([]gowarc.RecordType, len(all))
	for i, record := range all {
		kinds[i] = record.Type()
		if i > 0 {
			require.Equal(t, all[0].RecordId(), record.WarcHeader().GetId(gowarc.WarcWarcinfoID))
			require.Equal(t, "127.0.0.1", record.WarcHeader().Get(gowarc.WarcIPAddress))
		}
	}
	require.Equal(t, []gowarc.RecordType{
		gowarc.Warcinfo, gowarc.Response, gowarc.Request, gowarc.Revisit, gowarc.Request, gowarc.Revisit, gowarc.Request,
		gowarc.Response, gowarc.Request,
	}, kinds)
	require.Equal(t, all[1].RecordId(), all[2].WarcHeader().GetId(gowarc.WarcConcurrentTo))
	require.Equal(t, gowarc.ProfileIdenticalPayloadDigestV1_1, all[3].WarcHeader().Get(gowarc.WarcProfile))
	require.Equal(t, gowarc.ProfileServerNotModifiedV1_1, all[5].WarcHeader().Get(gowarc.WarcProfile))
	require.Equal(t, all[1].WarcHeader().Get(gowarc.WarcDate), all[5].WarcHeader().Get(gowarc.WarcRefersToDate))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestReadFindsDamage(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), site(t)
	a, _ := open(t, archive.Config{Dir: dir})
	x, _ := get(t, url+"/10", nil)
	at, err := a.Write(x)
	require.NoError(t, err)
	require.NoError(t, a.Close(t.Context()))
	ignore := func(string, io.Reader) error { return nil }
	data, err := os.ReadFile(filepath.Join(dir, at.File))
	require.NoError(t, err)
	data[at.Offset+at.Length-5] ^= 1 // of the checksum
	require.NoError(t, os.WriteFile(filepath.Join(dir, at.File), data, 0o600))
	require.ErrorIs(t, archive.Read(t.Context(), archive.Directory(dir), at, ignore), archive.ErrDamaged)
	at.Offset--
	require.ErrorIs(t, archive.Read(t.Context(), archive.Directory(dir), at, ignore), archive.ErrDamaged)
	at.File = "other" + archive.Suffix
	require.ErrorIs(t, archive.Read(t.Context(), archive.Directory(dir), at, ignore), crawl.ErrNotFound)
	at.File = "../" + at.File
	require.ErrorIs(t, archive.Read(t.Context(), archive.Directory(dir), at, ignore), crawl.ErrInvalid)
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), site(t)
	a, _ := open(t, archive.Config{Dir: dir, MaxFileBytes: 4000})
	x, _ := get(t, url+"/1000", nil)
	names := map[string]bool{}
	var mu sync.Mutex
	var writing sync.WaitGroup
	for i := range 40 {
		x := x
		x.Run = fmt.Sprintf("run%d", i%2)
		writing.Go(func() {
			for range 5 {
				at, err := a.Write(x)
				if !assertNoError(t, err) {
					return
				}
				mu.Lock()
				names[at.File] = true
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	require.NoError(t, a.Close(t.Context()))
	require.Greater(t, len(names), 10)
	count := 0
	for name := range names {
		for _, record := range records(t, filepath.Join(dir, name)) {
			if record.Type() == gowarc.Response {
				count++
			}
		}
	}
	require.Equal(t, 200, count)
}

func assertNoError(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// TestOpenRepairs leaves files as a killed process does: at any place.
func TestOpenRepairs(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), site(t)
	a, _ := open(t, archive.Config{Dir: dir})
	x, _ := get(t, url+"/1000", nil)
	first, err := a.Write(x)
	require.NoError(t, err)
	second, err := a.Write(x)
	require.NoError(t, err)
	require.NoError(t, a.Close(t.Context()))
	whole, err := os.ReadFile(filepath.Join(dir, first.File))
	require.NoError(t, err)

	for _, size := range []int64{0, 1, first.Offset, first.Offset + 1, second.Offset, second.Offset + second.Length - 1, int64(len(whole))} {
		other := t.TempDir()
		name := filepath.Join(other, first.File)
		require.NoError(t, os.WriteFile(name+archive.OpenSuffix, whole[:size], 0o600))
		lock := flock.New(name + ".lock")
		require.NoError(t, lock.Lock())
		a, repaired := open(t, archive.Config{Dir: other})
		require.Empty(t, repaired, "its writer lives")
		require.NoError(t, a.Close(t.Context()))
		require.NoError(t, lock.Close())

		a, repaired = open(t, archive.Config{Dir: other})
		require.Equal(t, []string{first.File}, repaired)
		require.NoError(t, a.Close(t.Context()))
		left, err := os.ReadDir(other)
		require.NoError(t, err)
		if size <= 1 {
			require.Empty(t, left)
			continue
		}
		require.Len(t, left, 1)
		_ = records(t, name)
		info, err := left[0].Info()
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), size)
		if size >= second.Offset {
			require.NotEmpty(t, body(t, other, x.URL, first), "a stored record stays")
		}
	}
}

// TestHostileResponses archives what readers of WARC files find hard.
func TestHostileResponses(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, strings.Repeat("a", 1<<20))
	require.NoError(t, w.Close())
	dir := t.TempDir()
	a, _ := open(t, archive.Config{Dir: dir})
	var last crawl.Archived
	for _, text := range []string{
		"HTTP/1.0 200 OK\n\n", "HTTP/1.1 200\r\nWARC-Type: request\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno header\r\n: x\r\nA\x00: \x01\xff\r\nContent-Length: x\r\n\r\n\x1f\x8b\x08",
		"HTTP/1.1 999 \xff\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + packed.String(),
		"\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			if conn, err := listener.Accept(); err == nil {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, text)
				_ = conn.Close()
			}
		}()
		x, sent := get(t, "http://"+listener.Addr().String()+"/a?b=%20|c", nil)
		last, err = a.Write(x)
		require.NoError(t, err, text)
		require.Equal(t, string(sent), string(body(t, dir, x.URL, last)), text)
	}
	require.NoError(t, a.Close(t.Context()))
	outside.Lock()
	defer outside.Unlock()
	r, err := gowarc.NewWarcFileReader(filepath.Join(dir, last.File), 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	count := 0
	for _, err := range r.Records() {
		require.NoError(t, err)
		count++
	}
	require.Equal(t, 13, count)
}

// TestErase erases records of any size; the others stay.
func TestErase(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), site(t)
	a, _ := open(t, archive.Config{Dir: dir})
	var all []crawl.Archived
	var addresses []string
	for size := range 300 { // in the compressed form too
		x, _ := get(t, fmt.Sprintf("%s/random/%d", url, size*size), nil)
		at, err := a.Write(x)
		require.NoError(t, err)
		all, addresses = append(all, at), append(addresses, x.URL)
	}
	for i := 0; i < len(all); i += 2 {
		require.NoError(t, archive.Erase(t.Context(), archive.Directory(dir), all[i].File, []crawl.Archived{all[i]}), "while the file is written")
	}
	x, _ := get(t, url+"/10", nil)
	last, err := a.Write(x)
	require.NoError(t, err)
	require.NoError(t, archive.Erase(t.Context(), archive.Directory(dir), all[0].File, []crawl.Archived{all[0]}), "once more")
	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, archive.Erase(t.Context(), archive.Directory(dir), all[1].File, []crawl.Archived{all[1]}))
	erased := 0
	for _, record := range records(t, filepath.Join(dir, last.File)) {
		if record.Type() == gowarc.Metadata {
			erased++
		}
	}
	require.Equal(t, 151, erased)
	for i, at := range all {
		err := archive.Read(t.Context(), archive.Directory(dir), at, func(string, io.Reader) error { return nil })
		if i%2 == 0 || i == 1 {
			require.ErrorIs(t, err, archive.ErrDamaged)
			continue
		}
		require.Len(t, body(t, dir, addresses[i], at), i*i)
	}
}
