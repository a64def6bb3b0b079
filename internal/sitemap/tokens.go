package sitemap

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"

	"golang.org/x/net/html/charset"
)

// tokenBytesMax bounds an element's start tag, a text or a comment: the decoder holds each
// as a whole, a tag of nothing but attributes as fifty times what it is on the wire.
const tokenBytesMax = 256 << 10

var (
	errTokenTooLong = errors.New("a tag or a text in it is too long")
	errEncodings    = errors.New("it declares its encoding twice")
)

// tokens reads XML of strangers, token by token and without checking that what is opened
// is closed.
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
		// it could be declared again and again, each time for a buffer and a call more
		if t.decoded {
			return nil, errEncodings
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

// next is the next token, which holds until the one after it is asked for.
func (t *tokens) next() (xml.Token, error) {
	t.left = tokenBytesMax
	return t.decoder.RawToken()
}

// ReadByte makes it an io.ByteReader, so that the decoder reads no more than it needs.
func (t *tokens) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errTokenTooLong
	}
	return t.in.ReadByte()
}

// Read makes it an io.Reader, as the decoder wants. It is not called.
func (t *tokens) Read(p []byte) (int, error) { return t.in.Read(p) }
