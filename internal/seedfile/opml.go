package seedfile

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/mosey-web/mosey/crawl"
)

var (
	errTagLong     = errors.New("a tag or a text is longer than 64 KiB")
	errCharsets    = errors.New("it declares its encoding twice")
	errUnclosedXML = errors.New("it ends before its elements do")
)

// outlines reads OPML. Only the names of elements and attributes count, and not how they
// nest, which many files have wrong.
type outlines struct {
	tokens *tokens
	list   *list
	depth  int
	isOPML bool
}

func readOPML(in io.Reader, l *list) error {
	o := &outlines{tokens: newTokens(in), list: l}
	for {
		line := o.tokens.line()
		token, err := o.tokens.next()
		switch {
		case o.tokens.failed != nil:
			return fmt.Errorf("read the list, line %d: %w", o.tokens.line(), o.tokens.failed)
		case errors.Is(err, io.EOF) && !o.isOPML:
			return fmt.Errorf("%w: source opml: the list has no element; want OPML, or another source", crawl.ErrInvalid)
		case errors.Is(err, io.EOF) && o.depth > 0:
			return o.malformed(errUnclosedXML)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return o.malformed(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = o.start(line, t)
		case xml.EndElement:
			o.depth--
		}
		if err != nil {
			return err
		}
	}
}

// start reads an element: its site, and then its feed.
func (o *outlines) start(line int64, t xml.StartElement) error {
	o.depth++
	if !o.isOPML {
		if !strings.EqualFold(t.Name.Local, "opml") {
			return fmt.Errorf("%w: source opml: the list begins with the element %q; want OPML, or another source",
				crawl.ErrInvalid, crawl.CleanText(t.Name.Local, textBytesMax))
		}
		o.isOPML = true
	}
	if !strings.EqualFold(t.Name.Local, "outline") {
		return nil
	}
	for _, name := range []string{"htmlUrl", "xmlUrl"} {
		text := attribute(t, name)
		if text == "" || !o.list.wanted() {
			continue
		}
		if err := o.list.add([]byte(text), Entry{Line: line, Feed: name == "xmlUrl"}); err != nil {
			return err
		}
	}
	return nil
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Name.Local, name) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// malformed tells that nothing more can be read. It is not an entry, so that offset and
// limit do not hide it.
func (o *outlines) malformed(err error) error {
	if syntax := (*xml.SyntaxError)(nil); errors.As(err, &syntax) {
		err = errors.New(syntax.Msg)
	}
	return o.list.tell(o.tokens.line(), "", fmt.Errorf("the XML is not read any further: %w", err))
}

// tokens reads XML token by token. The decoder holds a token as a whole, and a tag as many
// times what it is in the file, so that each has a bound.
type tokens struct {
	decoder *xml.Decoder
	in      *bufio.Reader
	left    int
	decoded bool
	// failed is why the file cannot be read, which is not to be taken for bad XML.
	failed error
}

func newTokens(in io.Reader) *tokens {
	t := &tokens{in: bufio.NewReader(in)}
	t.decoder = xml.NewDecoder(t)
	t.decoder.Strict = false // "&" in a URL is a common mistake
	t.decoder.CharsetReader = t.decode
	return t
}

// next is the next token, until the one after it is asked for. Unlike Token of the decoder,
// RawToken keeps no stack of what is open.
func (t *tokens) next() (xml.Token, error) {
	t.left = MaxRecordBytes
	return t.decoder.RawToken()
}

// line is the line of the next token.
func (t *tokens) line() int64 {
	line, _ := t.decoder.InputPos()
	return int64(line)
}

// decode has the rest of the file decoded from another encoding. A file could declare one
// again and again, each of which would take a buffer.
func (t *tokens) decode(label string, _ io.Reader) (io.Reader, error) {
	if t.decoded {
		return nil, errCharsets
	}
	t.decoded = true
	// A declaration that can be read as ASCII is not in UTF-16, whatever it says.
	if strings.HasPrefix(strings.ToLower(label), "utf-16") {
		return t, nil
	}
	decoded, err := charset.NewReaderLabel(label, t.in)
	if err != nil {
		return nil, err
	}
	t.in = bufio.NewReader(decoded)
	return t, nil
}

// ReadByte makes it an [io.ByteReader], of which the decoder reads no more than it needs.
func (t *tokens) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errTagLong
	}
	b, err := t.in.ReadByte()
	if err != nil && !errors.Is(err, io.EOF) {
		t.failed = err
	}
	return b, err
}

// Read makes it an [io.Reader], as the decoder wants. It is not called.
func (t *tokens) Read(p []byte) (int, error) { return t.in.Read(p) }
