package sitemap

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// MaxFeedBytes caps a feed, and MaxFeedEntries caps its entries. Longer feeds are archives.
	MaxFeedBytes   = 4 << 20
	MaxFeedEntries = 1_000
)

var errNoFeed = errors.New("the file is not a feed")

// FeedEntry is an entry of a feed.
type FeedEntry struct {
	// Link is the URL of the entry's page.
	Link urls.Spelt
	// Published is the time of publication or of a later change; zero means unknown.
	Published time.Time
}

// ReadFeed returns the entries of an RSS, Atom or JSON feed at a URL that have a page, in their
// order. It returns them with an error if a part of the feed was not read.
func ReadFeed(body []byte, contentType string, feed urls.Spelt) ([]FeedEntry, error) {
	text := newText(bytes.NewReader(body[:min(len(body), MaxFeedBytes)]), contentType)
	read := readXMLFeed
	if head, _ := text.Peek(headBytes); bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		read = readJSONFeed
	}
	entries, err := read(text, feed)
	if err != nil {
		err = fmt.Errorf("read the feed: %w", err)
	}
	return entries, err
}

// jsonFeed is a JSON Feed (jsonfeed.org, version 1.1).
type jsonFeed struct {
	Version string `json:"version"`
	Items   []struct {
		ID        any    `json:"id"`
		URL       string `json:"url"`
		Published string `json:"date_published"`
		Modified  string `json:"date_modified"`
	} `json:"items"`
}

func readJSONFeed(in *bufio.Reader, feed urls.Spelt) (entries []FeedEntry, err error) {
	var read jsonFeed
	if err := json.NewDecoder(in).Decode(&read); err != nil {
		return nil, err
	}
	if !strings.Contains(read.Version, "jsonfeed.org") {
		return nil, errNoFeed
	}
	for _, item := range read.Items[:min(len(read.Items), MaxFeedEntries)] {
		if id, isText := item.ID.(string); item.URL == "" && isText && strings.Contains(id, "://") {
			item.URL = id
		}
		e := FeedEntry{Published: later(crawl.ParseDate(item.Published), crawl.ParseDate(item.Modified))}
		if e.Link, err = feed.Resolve(item.URL); err == nil && item.URL != "" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// feedReader reads RSS, RDF and Atom.
type feedReader struct {
	entries []FeedEntry
	base    urls.Spelt // by xml:base outside of entries
	isFeed  bool
	depth   int // in the open entry; 0 is outside
	entry   feedEntry
	field   string // the open child of an entry
	value   strings.Builder
	isVoid  bool // the last start tag was a link that needs no end tag
}

// feedEntry is an open entry, with the links of the elements link and guid, and of Atom's link.
type feedEntry struct {
	base             urls.Spelt
	link, guid, href string
	published        time.Time
	isPermalink      bool // of guid
}

func readXMLFeed(in *bufio.Reader, feed urls.Spelt) ([]FeedEntry, error) {
	tokens, r := newTokens(in), &feedReader{base: feed}
	for len(r.entries) < MaxFeedEntries {
		token, err := tokens.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r.entries, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if !r.isFeed && roots[t.Name.Local] != Feed {
				return nil, errNoFeed
			}
			r.isFeed = true
			r.start(t)
		case xml.EndElement:
			r.end(t.Name.Local)
		case xml.CharData:
			if r.field != "" {
				r.value.Write(t[:min(len(t), valueBytesMax-r.value.Len())])
			}
		}
	}
	switch {
	case !r.isFeed:
		return nil, errNoFeed
	case r.depth > 0: // the entry may be cut off
		return r.entries, cmp.Or(tokens.broken, io.ErrUnexpectedEOF)
	}
	return r.entries, tokens.broken
}

func isEntry(name string) bool { return name == "item" || name == "entry" }

func (r *feedReader) start(t xml.StartElement) {
	name := t.Name.Local
	r.store()
	r.isVoid = false
	base := attribute(t.Attr, "xml", "base")
	switch {
	case isEntry(name): // even inside of one that was not closed
		r.finish()
		r.depth, r.entry = 1, feedEntry{base: resolve(r.base, base)}
		return
	case r.depth == 0:
		r.base = resolve(r.base, base)
		return
	}
	if href := attribute(t.Attr, "", "href"); name == "link" && href != "" {
		r.isVoid = true
		rel := attribute(t.Attr, "", "rel")
		if r.depth == 1 && r.entry.href == "" && (rel == "" || strings.EqualFold(rel, "alternate")) {
			r.entry.href = resolve(resolve(r.entry.base, base), href).String()
		}
		return
	}
	r.depth++
	if r.depth == 2 {
		r.field = name
		r.value.Reset()
		if name == "guid" {
			r.entry.isPermalink = !strings.EqualFold(attribute(t.Attr, "", "isPermaLink"), "false")
		}
	}
}

func (r *feedReader) end(name string) {
	r.store()
	switch {
	case isEntry(name):
		r.finish()
	case r.isVoid && name == "link":
		r.isVoid = false
	case r.depth > 1:
		r.depth--
	}
}

// store keeps the value of the open field.
func (r *feedReader) store() {
	value := strings.TrimSpace(r.value.String())
	switch r.field {
	case "link":
		r.entry.link = cmp.Or(r.entry.link, value)
	case "guid":
		r.entry.guid = cmp.Or(r.entry.guid, value)
	case "pubDate", "date", "published", "issued", "updated", "modified":
		r.entry.published = later(r.entry.published, crawl.ParseDate(value))
	}
	r.field = ""
}

// finish ends the open entry.
func (r *feedReader) finish() {
	r.store()
	if r.depth == 0 {
		return
	}
	r.depth = 0
	e := r.entry
	if !e.isPermalink || !strings.Contains(e.guid, "://") {
		e.guid = ""
	}
	for _, link := range []string{e.link, e.href, e.guid} {
		if to, err := e.base.Resolve(link); link != "" && err == nil {
			r.entries = append(r.entries, FeedEntry{Link: to, Published: e.published})
			return
		}
	}
}

// resolve returns the URL of a reference, or the base if it is empty or invalid.
func resolve(base urls.Spelt, ref string) urls.Spelt {
	if to, err := base.Resolve(ref); ref != "" && err == nil {
		return to
	}
	return base
}

func attribute(attrs []xml.Attr, space, name string) string {
	for _, a := range attrs {
		if a.Name.Space == space && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
