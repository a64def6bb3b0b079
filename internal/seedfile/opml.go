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
	errTagTooLong        = errors.New("a tag or a text is longer than 64 KiB")
	errDuplicateEncoding = errors.New("the XML declares its encoding twice")
	errUnclosedXML       = errors.New("the XML ends inside an element")
)

// outlines reads OPML. It ignores the nesting of elements, which is wrong in many files.
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
		o.tokens.left = MaxRecordBytes
		// Unlike Token, RawToken keeps no stack of open elements.
		token, err := o.tokens.decoder.RawToken()
		switch {
		case o.tokens.readErr != nil:
			return fmt.Errorf("read the list, line %d: %w", o.tokens.line(), o.tokens.readErr)
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
		if text == "" || !o.list.isPastOffset() {
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

// malformed reports that the rest cannot be read. Offset and limit do not apply, as it is no entry.
func (o *outlines) malformed(err error) error {
	if syntax := (*xml.SyntaxError)(nil); errors.As(err, &syntax) {
		err = errors.New(syntax.Msg)
	}
	return o.list.reportBad(o.tokens.line(), "", fmt.Errorf("the rest of the XML is ignored: %w", err))
}

// tokens reads XML token by token. It limits each token, because the decoder holds whole tokens and
// takes many times a tag's size in memory.
type tokens struct {
	decoder *xml.Decoder
	in      *bufio.Reader
	left    int
	decoded bool
	// readErr is the error of reading the file, as opposed to malformed XML.
	readErr error
}

func newTokens(in io.Reader) *tokens {
	t := &tokens{in: bufio.NewReader(in)}
	t.decoder = xml.NewDecoder(t)
	t.decoder.Strict = false // "&" in a URL is a common mistake
	t.decoder.CharsetReader = t.decode
	return t
}

// line returns the line of the next token.
func (t *tokens) line() int64 {
	line, _ := t.decoder.InputPos()
	return int64(line)
}

// decode decodes the rest of the file. It accepts one declaration, because each takes a buffer.
func (t *tokens) decode(label string, _ io.Reader) (io.Reader, error) {
	if t.decoded {
		return nil, errDuplicateEncoding
	}
	t.decoded = true
	// A declaration readable as ASCII is never in UTF-16, even if it declares so.
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

// ReadByte implements [io.ByteReader], so that the decoder reads no more than it needs.
func (t *tokens) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errTagTooLong
	}
	b, err := t.in.ReadByte()
	if err != nil && !errors.Is(err, io.EOF) {
		t.readErr = err
	}
	return b, err
}

// Read implements [io.Reader] for the decoder, which never calls it.
func (t *tokens) Read(p []byte) (int, error) { return t.in.Read(p) }
