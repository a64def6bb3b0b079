package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/seedlist"
	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// publishedLists are where lists of the largest sites are published.
var publishedLists = map[seeds.Source]string{
	seeds.Tranco:   "https://tranco-list.eu/top-1m.csv.zip",
	seeds.Majestic: "https://downloads.majestic.com/majestic_million.csv",
}

// published is a list that is downloaded first.
func (s *seedCmd) published(source seeds.Source) (seedInput, error) {
	from := s.URL
	if from == "" {
		from = publishedLists[source]
	}
	if from == "" {
		return seedInput{}, wiring.Usagef("seed: nothing to read: want URLs or hosts, --file, or a list that is published (--source tranco or majestic)")
	}
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return seedInput{}, wiring.Usagef("--url %q: want the address of a list, such as %s", from, publishedLists[seeds.Tranco])
	}
	if err := s.FetchFlags.Validate(); err != nil {
		return seedInput{}, wiring.Usagef("%w", err)
	}
	return seedInput{source: source, url: from, flags: s.FetchFlags}, nil
}

const (
	// downloadConnect and downloadMost bound how long a download may take, downloadHops
	// its redirects.
	downloadConnect = 30 * time.Second
	downloadMost    = time.Hour
	downloadHops    = 5
)

// download is a list that was downloaded, and what to ask for it again with.
type download struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`

	path string
}

// downloaded returns the file that has a published list: as it is now, or, where that
// cannot be had, as it was.
func downloaded(ctx context.Context, e *env, in seedInput) (string, error) {
	dir, err := datadir.Resolve(e.dataDir)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "lists")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // published lists are no secret
		return "", fmt.Errorf("keep downloaded lists: %w", err)
	}
	d := download{URL: in.url, path: filepath.Join(dir, string(in.source))}
	if data, err := os.ReadFile(d.note()); err == nil {
		var before download
		if err := json.Unmarshal(data, &before); err == nil && before.URL == d.URL {
			d.ETag, d.LastModified = before.ETag, before.LastModified
		}
	}
	_, err = os.Stat(d.path)
	kept := err == nil && d.ETag+d.LastModified != ""
	if !kept {
		d.ETag, d.LastModified = "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, downloadMost)
	defer cancel()
	if err := d.get(ctx, e, in.flags); err != nil {
		if !kept || ctx.Err() != nil {
			return "", fmt.Errorf("download %s: %w: give the list with --file, or another address with --url", in.url, err)
		}
		fmt.Fprintf(e.stderr, "mosey: could not download %s (%v): the list that was downloaded before is used\n", in.url, err)
	}
	return d.path, nil
}

// note is the file that says what has been downloaded.
func (d *download) note() string { return d.path + ".json" }

// get downloads the list, unless it is what it was.
func (d *download) get(ctx context.Context, e *env, flags wiring.FetchFlags) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", flags.Agent())
	if d.ETag != "" {
		req.Header.Set("If-None-Match", d.ETag)
	}
	if d.LastModified != "" {
		req.Header.Set("If-Modified-Since", d.LastModified)
	}
	client, err := downloader(flags)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return nil
	case http.StatusOK:
	default:
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	d.ETag, d.LastModified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	return d.store(e, resp)
}

// store replaces the file by a body, as a whole.
func (d *download) store(e *env, resp *http.Response) error {
	part, err := os.CreateTemp(filepath.Dir(d.path), filepath.Base(d.path)+".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	line := newProgressLine(e)
	defer line.clear()
	body := &told{in: io.LimitReader(resp.Body, seedlist.MaxUnpackedBytes+1), tell: func(n int64) {
		line.show(func(time.Time) string { return fmt.Sprintf("downloading %s: %.1f MB", d.URL, float64(n)/1e6) })
	}}
	n, err := io.Copy(part, body)
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if n > seedlist.MaxUnpackedBytes {
		return fmt.Errorf("it is larger than %d bytes", int64(seedlist.MaxUnpackedBytes))
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	// a list without its note is downloaded anew, and so it is the note that comes last
	if err := os.Remove(d.note()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(part.Name(), d.path); err != nil {
		return err
	}
	return os.WriteFile(d.note(), data, 0o600)
}

// told tells how much has been read.
type told struct {
	in   io.Reader
	n    int64
	tell func(int64)
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	t.tell(t.n)
	return n, err
}

// downloader is a client that asks no address that the crawler would not.
func downloader(flags wiring.FetchFlags) (*http.Client, error) {
	guard, err := fetch.New(fetch.Config{UserAgent: flags.Agent(), AllowNetworks: flags.AllowNetwork})
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: downloadConnect, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return guard.Permits(to.Addr())
	}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: downloadConnect, ResponseHeaderTimeout: downloadConnect,
			ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > downloadHops {
				return fmt.Errorf("more than %d redirects", downloadHops)
			}
			return nil
		},
	}, nil
}
