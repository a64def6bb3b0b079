package seed

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/internal/seedfile"
	"github.com/mosey-web/mosey/internal/sitemap"
)

// sitemapChunk is how many pages of a sitemap one transaction stores.
const sitemapChunk = 5_000

// readSitemap stores the pages that a sitemap in a file lists. Of an index the sitemaps
// become seeds, which the crawl asks for.
func (l *seedLoad) readSitemap(ctx context.Context, in seedInput, file *seedfile.File) error {
	body, err := io.ReadAll(io.LimitReader(file, sitemap.MaxBytes+1))
	if err != nil {
		return wiring.Usagef("seed file: %w", err)
	}
	var found []string
	kind, err := sitemap.Read(body, func(entry sitemap.Entry) bool {
		found = append(found, entry.Loc)
		return true
	})
	if err != nil {
		l.bad.Add(fmt.Sprintf(" %v", err))
	}
	var all []seeds.Seed
	for _, loc := range found {
		seed, err := seeds.Parse(loc)
		if err != nil || seed.Bare {
			l.bad.Add(fmt.Sprintf(" %q is no URL", loc))
			continue
		}
		if kind == sitemap.Index {
			seed.Kind = kinds.Sitemap
		}
		all = append(all, seed)
	}
	l.showBad(in.name)
	if len(all) == 0 {
		return wiring.Usagef("no seeds in %s: want a sitemap as sitemaps.org says, or a file of URLs", in.name)
	}
	for some := range slices.Chunk(all, sitemapChunk) {
		if err := l.add(ctx, seeds.Sitemap, some); err != nil {
			return err
		}
	}
	return nil
}

// modified is when a file was changed last; empty where that is not known.
func modified(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return info.ModTime().UTC().Format(time.RFC3339Nano)
}
