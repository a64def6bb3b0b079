package seedfile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
)

// PublishedURL returns the address of a list of the largest sites, or an empty string.
func PublishedURL(source seeds.Source) string {
	return map[seeds.Source]string{
		seeds.Tranco:   "https://tranco-list.eu/top-1m.csv.zip",
		seeds.Majestic: "https://downloads.majestic.com/majestic_million.csv",
	}[source]
}

// ValidateURL checks the address of a list. Errors wrap [crawl.ErrInvalid].
func ValidateURL(text string) error {
	if _, err := urls.Parse(text); err != nil {
		return fmt.Errorf("%w: url %q: want the URL of a list, such as %s", crawl.ErrInvalid, urls.WithoutCredentials(text),
			PublishedURL(seeds.Tranco))
	}
	return nil
}

const (
	// connectTimeout and downloadTimeout limit the time of a download, maxDownloadRedirects its
	// redirects.
	connectTimeout       = 30 * time.Second
	downloadTimeout      = time.Hour
	maxDownloadRedirects = 5
)

// Downloader downloads lists and caches each until it changes.
type Downloader struct {
	// Dir is the directory of the cached lists. It is created if it does not exist.
	Dir string
	// Agent is the User-Agent to send.
	Agent string
	// Permits returns an error if an address must not be requested, and otherwise nil.
	Permits func(netip.Addr) error
	// OnProgress, if not nil, is called with the number of bytes downloaded so far.
	OnProgress func(bytes int64)
}

// Get returns the path of a current copy of a list. If the download fails, it returns the cached
// copy and the error as stale.
func (d Downloader) Get(ctx context.Context, source seeds.Source, from string) (path string, stale, err error) {
	if err := os.MkdirAll(d.Dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("store downloaded lists: %w", err)
	}
	sum := sha256.Sum256([]byte(from))
	list := filepath.Join(d.Dir, fmt.Sprintf("%s-%x", source, sum[:4]))
	c := cachedList{URL: from, path: list, metadataPath: list + ".json"}
	found := c.loadMetadata()
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	err = d.get(ctx, &c)
	switch {
	case err == nil:
		return c.path, nil, nil
	case !found || ctx.Err() != nil:
		return "", nil, fmt.Errorf("download %s: %w", from, err)
	}
	return c.path, fmt.Errorf("download %s: %w", from, err), nil
}

// cachedList is a downloaded list with the validators to request it again.
type cachedList struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`

	path, metadataPath string // of the list, and of its stored fields
}

// loadMetadata loads the validators of a cached list. It returns false if the list is not cached.
func (c *cachedList) loadMetadata() bool {
	var stored cachedList
	data, err := os.ReadFile(c.metadataPath)
	if err != nil || json.Unmarshal(data, &stored) != nil || stored.URL != c.URL {
		return false
	}
	if _, err := os.Stat(c.path); err != nil {
		return false
	}
	c.ETag, c.LastModified = stored.ETag, stored.LastModified
	return true
}

// get downloads a list if it has changed.
func (d Downloader) get(ctx context.Context, c *cachedList) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", d.Agent)
	if c.ETag != "" {
		req.Header.Set("If-None-Match", c.ETag)
	}
	if c.LastModified != "" {
		req.Header.Set("If-Modified-Since", c.LastModified)
	}
	client := d.client()
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
		return fmt.Errorf("the server responded with %s", resp.Status)
	}
	c.ETag, c.LastModified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	total := int64(0)
	return c.store(&countingReader{io.LimitReader(resp.Body, MaxUnpackedBytes+1), func(n int) {
		if total += int64(n); d.OnProgress != nil {
			d.OnProgress(total)
		}
	}})
}

// store replaces the file atomically.
func (c *cachedList) store(body io.Reader) error {
	part, err := os.CreateTemp(filepath.Dir(c.path), filepath.Base(c.path)+".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // if it was not renamed
	n, err := io.Copy(part, body)
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if n > MaxUnpackedBytes {
		return fmt.Errorf("the list is larger than %d bytes", int64(MaxUnpackedBytes))
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// a list without its metadata is downloaded again: remove the metadata first and write it last
	if err := os.Remove(c.metadataPath); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(part.Name(), c.path); err != nil {
		return err
	}
	return os.WriteFile(c.metadataPath, data, 0o600)
}

// client requests only permitted addresses.
func (d Downloader) client() *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return d.Permits(to.Addr())
	}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: connectTimeout,
			ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxDownloadRedirects {
				return fmt.Errorf("more than %d redirects", maxDownloadRedirects)
			}
			return nil
		},
	}
}
