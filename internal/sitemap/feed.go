package sitemap

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"time"

	"github.com/mmcdole/gofeed"
)

const (
	// MaxFeedBytes caps a feed, and MaxFeedEntries caps its entries. Longer feeds are archives.
	MaxFeedBytes   = 4 << 20
	MaxFeedEntries = 1_000

	// Limits on the structure of a feed. The parser takes memory and stack for each level and each
	// attribute, and time for each piece of a text.
	feedDepthMax      = 100
	feedAttributesMax = 50
	feedNamespacesMax = 100
	feedPiecesMax     = 300_000
)

// FeedEntry is an entry of a feed.
type FeedEntry struct {
	// Link is the URL of the entry's page as written. It may be relative to the feed's URL.
	Link string
	// Published is the time of publication or of a later change; zero means unknown.
	Published time.Time
}

// ReadFeed returns the entries of an RSS, Atom or JSON feed that have a page, in their order.
func ReadFeed(body []byte) (entries []FeedEntry, err error) {
	body = body[:min(len(body), MaxFeedBytes)]
	if err := checkStructure(body); err != nil {
		return nil, fmt.Errorf("read the feed: %w", err)
	}
	// The parser is third-party code and feeds are untrusted. A panic must not end the worker.
	defer func() {
		if p := recover(); p != nil {
			entries, err = nil, fmt.Errorf("read the feed: its parser panicked: %v", p)
		}
	}()
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the feed: %w", err)
	}
	for _, item := range feed.Items[:min(len(feed.Items), MaxFeedEntries)] {
		n := FeedEntry{Link: item.Link}
		if item.PublishedParsed != nil {
			n.Published = item.PublishedParsed.UTC()
		}
		if item.UpdatedParsed != nil && item.UpdatedParsed.After(n.Published) {
			n.Published = item.UpdatedParsed.UTC()
		}
		if n.Link != "" {
			entries = append(entries, n)
		}
	}
	return entries, nil
}

// checkStructure returns an error if a feed must not be parsed. The parser may read malformed
// feeds.
func checkStructure(body []byte) error {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '{' {
		if !json.Valid(trimmed) { // also bounds its depth
			return errors.New("the feed is not JSON")
		}
		return nil
	}
	in := newTokens(bytes.NewReader(body))
	depth, namespaces, pieces := 0, 0, 0
	for {
		token, err := in.next()
		if errors.Is(err, errTokenTooLong) || errors.Is(err, errDuplicateEncoding) {
			return err
		}
		if token == nil {
			return nil
		}
		pieces++
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range t.Attr {
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
					namespaces++
				}
			}
			if len(t.Attr) > feedAttributesMax {
				return fmt.Errorf("an element has %d attributes", len(t.Attr))
			}
		case xml.EndElement:
			depth = max(depth-1, 0)
		}
		switch {
		case depth > feedDepthMax:
			return fmt.Errorf("the feed is nested more than %d elements deep", feedDepthMax)
		case namespaces > feedNamespacesMax:
			return fmt.Errorf("the feed has more than %d namespaces", feedNamespacesMax)
		case pieces > feedPiecesMax:
			return fmt.Errorf("the feed has more than %d pieces", feedPiecesMax)
		}
	}
}
