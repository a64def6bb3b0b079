package sitemap

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
)

const (
	// MaxFeedBytes is how long a feed may be, and MaxFeedEntries how many of its entries
	// count: one that is longer is an archive.
	MaxFeedBytes   = 4 << 20
	MaxFeedEntries = 1_000

	// What a feed may consist of. The parser takes memory and stack for each level and
	// each attribute, and time for each piece of a text.
	feedDepthMax      = 100
	feedAttributesMax = 50
	feedNamespacesMax = 100
	feedPiecesMax     = 300_000
)

// News is what a feed announces.
type News struct {
	// Link is the URL of its page as written, which may be relative to the feed's.
	Link string
	// Published is when it was published, or changed since; zero if the feed does not
	// say.
	Published time.Time
}

// FeedDoc is what is read of a feed.
type FeedDoc struct {
	// News are its entries that have a page, in its order.
	News []News
	// Hub is the first hub that it names, and Self its own URL (W3C WebSub, section 4), as written;
	// empty is none.
	Hub, Self string
}

// ReadFeed reads an RSS, Atom or JSON feed. One that cannot be read may have a hub all the same.
func ReadFeed(body []byte) (feed FeedDoc, err error) {
	body = body[:min(len(body), MaxFeedBytes)]
	if err := harmless(body, &feed); err != nil {
		return FeedDoc{}, fmt.Errorf("read the feed: %w", err)
	}
	// The parser is not ours, and a feed is a stranger's: a panic must cost one feed,
	// not the worker.
	defer func() {
		if p := recover(); p != nil {
			feed.News, err = nil, fmt.Errorf("read the feed: its parser panicked: %v", p)
		}
	}()
	parsed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return feed, fmt.Errorf("read the feed: %w", err)
	}
	for _, item := range parsed.Items[:min(len(parsed.Items), MaxFeedEntries)] {
		n := News{Link: item.Link}
		if item.PublishedParsed != nil {
			n.Published = item.PublishedParsed.UTC()
		}
		if item.UpdatedParsed != nil && item.UpdatedParsed.After(n.Published) {
			n.Published = item.UpdatedParsed.UTC()
		}
		if n.Link != "" {
			feed.News = append(feed.News, n)
		}
	}
	return feed, nil
}

// addLink takes a hub, or the feed's own URL, of an element of the feed itself.
func (f *FeedDoc) addLink(t xml.StartElement) {
	var rel, href string
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "rel":
			rel = a.Value
		case "href":
			href = strings.TrimSpace(a.Value)
		}
	}
	for name := range strings.FieldsSeq(strings.ToLower(rel)) {
		switch {
		case name == "hub" && f.Hub == "":
			f.Hub = href
		case name == "self" && f.Self == "":
			f.Self = href
		}
	}
}

// readJSON takes the same of a JSON feed (jsonfeed.org, version 1.1).
func (f *FeedDoc) readJSON(body []byte) error {
	var top struct {
		Self string `json:"feed_url"`
		Hubs []struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		} `json:"hubs"`
	}
	if !json.Valid(body) { // which bounds how deep it is
		return errors.New("it is no JSON")
	}
	if json.Unmarshal(body, &top) != nil {
		return nil //nolint:nilerr // it has them in another form, which says nothing
	}
	f.Self = top.Self
	for _, h := range top.Hubs {
		if strings.EqualFold(h.Type, "WebSub") && f.Hub == "" {
			f.Hub = h.URL
		}
	}
	return nil
}

// harmless says why a feed is not given to the parser. A malformed feed is given to it:
// the parser reads what it can, but for hubs. These are taken on the way.
func harmless(body []byte, feed *FeedDoc) error {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '{' {
		return feed.readJSON(trimmed)
	}
	parent := "" // the last element that is one or two deep
	in := newTokens(bytes.NewReader(body))
	depth, namespaces, pieces := 0, 0, 0
	for {
		token, err := in.next()
		if errors.Is(err, errTokenTooLong) || errors.Is(err, errEncodings) {
			return err
		}
		if token == nil {
			return nil
		}
		pieces++
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			ofFeed := depth == 2 || depth == 3 && parent == "channel"
			if ofFeed && t.Name.Local == "link" {
				feed.addLink(t)
			}
			if depth <= 2 {
				parent = t.Name.Local
			}
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
			return fmt.Errorf("it is more than %d elements deep", feedDepthMax)
		case namespaces > feedNamespacesMax:
			return fmt.Errorf("it has more than %d namespaces", feedNamespacesMax)
		case pieces > feedPiecesMax:
			return fmt.Errorf("it has more than %d pieces", feedPiecesMax)
		}
	}
}
