package sitemap

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// MaxBytes and MaxEntries limit the part of a file that is read (sitemaps.org, "Sitemap index
	// files").
	MaxBytes   = 50 << 20
	MaxEntries = 50_000

	// priorityDefault is the priority of a URL without a declared priority.
	priorityDefault = 0.5

	// valueBytesMax caps the text of an element. A URL has at most 2,048 characters.
	valueBytesMax = 8 << 10
	// alternatesMax caps Entry.Alternates.
	alternatesMax = 64
)

// Format is the format of a file.
type Format int

const (
	// Unknown is not a sitemap.
	Unknown Format = iota
	// URLs names pages.
	URLs
	// Index names other sitemaps.
	Index
	// Feed is RSS or Atom, which sitemaps.org allows as a sitemap. ReadFeed reads it.
	Feed
)

var errNoSitemap = errors.New("the file is not a sitemap")

// Entry is a URL of a sitemap.
type Entry struct {
	// Loc is the URL as written.
	Loc string
	// LastMod is the time of the last change or of publication as news; zero means unknown.
	LastMod time.Time
	// Priority is from 0 to 1. The default is 0.5.
	Priority float64
	// Alternates are the page's URLs in all its languages, as written.
	Alternates []string
}

// Read calls yield for each entry of a file until yield returns false. contentType is the header
// Content-Type, or empty. Read returns an error if the file is not a sitemap, or if a part of it
// was not read.
func Read(body []byte, contentType string, yield func(Entry) bool) (Format, error) {
	var in io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return Unknown, fmt.Errorf("decompress the file: %w", err)
		}
		in = unpacked
	}
	bytesLeft := &io.LimitedReader{R: in, N: MaxBytes}
	r := newText(bytesLeft, contentType)
	entries := 0
	limited := func(e Entry) bool {
		entries++
		return entries <= MaxEntries && yield(e)
	}
	head, err := r.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return Unknown, fmt.Errorf("decompress the file: %w", err)
	}
	kind := URLs
	begin := strings.TrimSpace(string(head))
	if strings.HasPrefix(begin, "http://") || strings.HasPrefix(begin, "https://") {
		err = readText(r, limited)
	} else {
		kind, err = readXML(r, limited)
	}
	switch {
	case entries > MaxEntries:
		err = fmt.Errorf("the file has more than %d URLs", MaxEntries)
	case bytesLeft.N <= 0 && kind != Unknown:
		err = fmt.Errorf("the file is longer than %d bytes", MaxBytes)
	}
	return kind, err
}

// byteOrderMark may begin a file in UTF-8.
const byteOrderMark = "\ufeff"

func readText(r io.Reader, yield func(Entry) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, valueBytesMax)
	lines.Split(splitLine)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line != "" && !yield(Entry{Loc: line, Priority: priorityDefault}) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	return nil
}

// splitLine is bufio.ScanLines for lines that end in a line feed, a carriage return or both.
func splitLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// reader reads an XML file. It considers the names and depths of elements, but not their
// namespaces, which are wrong in many files.
type reader struct {
	yield func(Entry) bool
	kind  Format
	depth int
	entry Entry
	// value is the text of an element, and store sets its field. nil means an ignored element.
	value strings.Builder
	store func(*Entry, string)
	done  bool
}

// The depths of elements: the root, an entry, its fields, and their content.
const (
	rootDepth = iota + 1
	entryDepth
	fieldDepth
	extensionDepth
)

func readXML(in *bufio.Reader, yield func(Entry) bool) (Format, error) {
	tokens, r := newTokens(in), &reader{yield: yield}
	for !r.done {
		token, err := tokens.next()
		if errors.Is(err, io.EOF) && r.depth > 0 {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case r.kind == Unknown && (err != nil || tokens.broken != nil):
			return Unknown, errNoSitemap
		case err != nil:
			if !errors.Is(err, io.EOF) {
				tokens.broken = cmp.Or(tokens.broken, err)
			}
			r.done = true
			continue
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := r.start(t); err != nil {
				return r.kind, err
			}
		case xml.EndElement:
			r.end(t.Name.Local)
		case xml.CharData:
			if r.store != nil { // a cut value is too long for a URL
				r.value.Write(t[:min(len(t), valueBytesMax-r.value.Len())])
			}
		}
		if r.kind == Feed {
			return Feed, nil
		}
	}
	if tokens.broken != nil {
		return r.kind, fmt.Errorf("read the XML: %w", tokens.broken)
	}
	return r.kind, nil
}

func (r *reader) start(t xml.StartElement) error {
	r.storeValue()
	switch t.Name.Local {
	case "link": // has no content; some are not closed
		if r.depth == entryDepth {
			r.alternate(t.Attr)
		}
		return nil
	case entryOf[r.kind]: // even inside of one that was not closed
		r.finish()
		r.depth = rootDepth
	}
	r.depth++
	switch {
	case r.depth == rootDepth:
		kind, known := roots[t.Name.Local]
		if !known {
			return errNoSitemap
		}
		r.kind = kind
	case r.depth == entryDepth:
		r.entry = Entry{Priority: priorityDefault}
	case r.depth == fieldDepth:
		r.store = fields[t.Name.Local]
	case r.depth == extensionDepth && t.Name.Local == "publication_date":
		r.store = fields["lastmod"]
	}
	r.value.Reset()
	return nil
}

// roots maps the first element of a file to its format.
var roots = map[string]Format{"urlset": URLs, "sitemapindex": Index, "rss": Feed, "feed": Feed, "RDF": Feed}

// entryOf maps a format to the element of an entry.
var entryOf = map[Format]string{URLs: "url", Index: "sitemap"}

var fields = map[string]func(*Entry, string){
	"loc": func(e *Entry, text string) { e.Loc = cmp.Or(e.Loc, text) },
	"lastmod": func(e *Entry, text string) {
		if at := crawl.ParsePublicationDate(text); at.After(e.LastMod) {
			e.LastMod = at
		}
	},
	"priority": func(e *Entry, text string) {
		if p, err := strconv.ParseFloat(text, 64); err == nil && p >= 0 && p <= 1 {
			e.Priority = p
		}
	},
}

// alternate records the URL of the page in another language: <xhtml:link rel="alternate"
// hreflang="…">.
func (r *reader) alternate(attrs []xml.Attr) {
	var rel, href, lang string
	for _, a := range attrs {
		switch a.Name.Local {
		case "rel":
			rel = a.Value
		case "href":
			href = a.Value
		case "hreflang":
			lang = a.Value
		}
	}
	if strings.EqualFold(rel, "alternate") && lang != "" && href != "" && len(href) <= valueBytesMax &&
		len(r.entry.Alternates) < alternatesMax {
		r.entry.Alternates = append(r.entry.Alternates, strings.TrimSpace(href))
	}
}

func (r *reader) end(name string) {
	r.storeValue()
	switch name {
	case "link":
		return
	case entryOf[r.kind]:
		r.depth = entryDepth
	}
	if r.depth == entryDepth {
		r.finish()
	}
	r.depth = max(r.depth-1, 0)
}

func (r *reader) storeValue() {
	if r.store != nil {
		r.store(&r.entry, strings.TrimSpace(r.value.String()))
		r.store = nil
	}
}

// finish yields the entry, if it has a URL.
func (r *reader) finish() {
	if r.entry.Loc != "" && !r.done {
		r.done = !r.yield(r.entry)
	}
	r.entry = Entry{}
}
