package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

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

// Read calls yield for each entry of a file until yield returns false. It returns an error if the
// file is not a sitemap, or if the rest of the file after the yielded entries was not read.
func Read(body []byte, yield func(Entry) bool) (Format, error) {
	var in io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return Unknown, fmt.Errorf("decompress the file: %w", err)
		}
		in = unpacked
	}
	bytesLeft := &io.LimitedReader{R: in, N: MaxBytes}
	r := bufio.NewReaderSize(bytesLeft, 64<<10)
	entries := 0
	limited := func(e Entry) bool {
		entries++
		return entries <= MaxEntries && yield(e)
	}
	head, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return Unknown, fmt.Errorf("decompress the file: %w", err)
	}
	kind := URLs
	begin := strings.TrimSpace(strings.TrimPrefix(string(head), byteOrderMark))
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
	for lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), byteOrderMark))
		if line != "" && !yield(Entry{Loc: line, Priority: priorityDefault}) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	return nil
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

func readXML(in io.Reader, yield func(Entry) bool) (Format, error) {
	tokens, r := newTokens(in), &reader{yield: yield}
	for !r.done {
		token, err := tokens.next()
		if errors.Is(err, io.EOF) && r.depth > 0 {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case err != nil && r.kind == Unknown:
			return Unknown, errNoSitemap
		case errors.Is(err, io.EOF):
			return r.kind, nil
		case err != nil:
			return r.kind, fmt.Errorf("read the XML: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := r.start(t); err != nil {
				return r.kind, err
			}
		case xml.EndElement:
			r.end()
		case xml.CharData:
			if r.store != nil { // a cut value is too long for a URL
				r.value.Write(t[:min(len(t), valueBytesMax-r.value.Len())])
			}
		}
		if r.kind == Feed {
			return Feed, nil
		}
	}
	return r.kind, nil
}

func (r *reader) start(t xml.StartElement) error {
	r.depth++
	r.store = nil
	switch {
	case r.depth == rootDepth:
		kind, known := roots[t.Name.Local]
		if !known {
			return errNoSitemap
		}
		r.kind = kind
	case r.depth == entryDepth:
		r.entry = Entry{Priority: priorityDefault}
	case r.depth == fieldDepth && t.Name.Local == "link":
		r.alternate(t.Attr)
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

var fields = map[string]func(*Entry, string){
	"loc": func(e *Entry, text string) {
		if e.Loc == "" {
			e.Loc = text
		}
	},
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

func (r *reader) end() {
	if r.store != nil {
		r.store(&r.entry, strings.TrimSpace(r.value.String()))
		r.store = nil
	}
	if r.depth == entryDepth && r.entry.Loc != "" {
		r.done = !r.yield(r.entry)
	}
	r.depth = max(r.depth-1, 0)
}

// tokenBytesMax caps an element's start tag, a text or a comment. The decoder holds each as a
// whole, and a tag of only attributes takes fifty times its size in memory.
const tokenBytesMax = 256 << 10

var (
	errTokenTooLong      = errors.New("a tag or a text is too long")
	errDuplicateEncoding = errors.New("the XML declares its encoding twice")
)

// tokens reads untrusted XML token by token, without matching start and end tags.
type tokens struct {
	decoder *xml.Decoder
	in      *bufio.Reader
	left    int
	decoded bool
}

func newTokens(in io.Reader) *tokens {
	t := &tokens{in: bufio.NewReader(in)}
	t.decoder = xml.NewDecoder(t)
	t.decoder.Strict = false // "&" in a URL is a common mistake
	t.decoder.CharsetReader = func(label string, _ io.Reader) (io.Reader, error) {
		// Repeated declarations would each take another buffer and call.
		if t.decoded {
			return nil, errDuplicateEncoding
		}
		t.decoded = true
		decoded, err := charset.NewReaderLabel(label, t.in)
		if err != nil {
			return nil, err
		}
		t.in = bufio.NewReader(decoded)
		return t, nil
	}
	return t
}

// next returns the next token. It is valid until the following call.
func (t *tokens) next() (xml.Token, error) {
	t.left = tokenBytesMax
	return t.decoder.RawToken()
}

// ReadByte implements io.ByteReader, so that the decoder reads no more than it needs.
func (t *tokens) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errTokenTooLong
	}
	return t.in.ReadByte()
}

// Read implements io.Reader for the decoder, which never calls it.
func (t *tokens) Read(p []byte) (int, error) { return t.in.Read(p) }
