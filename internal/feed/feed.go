// Package feed reads RSS, Atom and JSON feeds: which pages they announce.
package feed

import (
	"bytes"
	"fmt"
	"time"

	"github.com/mmcdole/gofeed"
)

const (
	// MaxBytes is how long a feed may be, and MaxEntries how many of its entries count:
	// one that is longer is an archive.
	MaxBytes   = 4 << 20
	MaxEntries = 1_000
)

// Entry is what a feed announces.
type Entry struct {
	// Link is the URL of its page as written, which may be relative to the feed's.
	Link string
	// Published is when it was published, or changed since; zero where the feed does not
	// say.
	Published time.Time
}

// Read returns the entries of a feed that have a page, in its order.
func Read(body []byte) (entries []Entry, err error) {
	// The parser is not ours, and what it reads is a stranger's: what it does not expect
	// must cost one feed, not the worker.
	defer func() {
		if p := recover(); p != nil {
			entries, err = nil, fmt.Errorf("read the feed: its parser panicked: %v", p)
		}
	}()
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body[:min(len(body), MaxBytes)]))
	if err != nil {
		return nil, fmt.Errorf("read the feed: %w", err)
	}
	for _, item := range feed.Items[:min(len(feed.Items), MaxEntries)] {
		e := Entry{Link: item.Link}
		if item.PublishedParsed != nil {
			e.Published = item.PublishedParsed.UTC()
		}
		if item.UpdatedParsed != nil && item.UpdatedParsed.After(e.Published) {
			e.Published = item.UpdatedParsed.UTC()
		}
		if e.Link != "" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
