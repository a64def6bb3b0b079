package sitemap

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"regexp"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

const (
	// headBytes is the part of a file that has its byte order mark and its XML declaration.
	headBytes = 512
	// tokenBytesMax caps an element's start tag, a text or a comment. The decoder holds each as a
	// whole, and a tag of only attributes takes fifty times its size in memory.
	tokenBytesMax = 256 << 10
	// restartsMax caps the malformed places of a file, after which the rest is not read.
	restartsMax = 1000
)

var (
	errTokenTooLong = errors.New("a tag or a text is too long")

	declaration = regexp.MustCompile(`^\s*<\?xml\s[^>]*\?>`)
	encodingOf  = regexp.MustCompile(`^\s*<\?xml\s[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']`)
)

// newText returns a file in UTF-8, without its byte order mark and XML declaration. The mark
// decides about the encoding, else the Content-Type header, else the declaration. Invalid bytes
// become U+FFFD, and characters that XML 1.0 §2.2 forbids become spaces.
func newText(in io.Reader, contentType string) *bufio.Reader {
	r := bufio.NewReader(in)
	head, _ := r.Peek(headBytes) // the next read returns the error, too
	decoded := io.Reader(r)
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		decoded = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		decoded = unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case !bytes.HasPrefix(head, []byte(byteOrderMark)):
		_, params, _ := mime.ParseMediaType(contentType) // a malformed type has no parameters
		if encoding, name := charset.Lookup(cmp.Or(params["charset"], declaredCharset(head))); encoding != nil && name != "utf-8" {
			decoded = encoding.NewDecoder().Reader(r)
		}
	}
	text := bufio.NewReader(transform.NewReader(decoded, runes.Map(allowed)))
	if head, _ := text.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		discard(text, len(byteOrderMark))
	}
	head, _ = text.Peek(headBytes)
	discard(text, len(declaration.Find(head)))
	return text
}

// discard skips bytes that were peeked at.
func discard(r *bufio.Reader, n int) {
	if _, err := r.Discard(n); err != nil {
		panic(err) // bufio.Reader.Discard has no error for buffered bytes
	}
}

// declaredCharset returns the charset of an XML declaration that could be read, and so is not in
// UTF-16.
func declaredCharset(head []byte) string {
	found := encodingOf.FindSubmatch(head)
	if found == nil || bytes.HasPrefix(bytes.ToLower(found[1]), []byte("utf-16")) {
		return ""
	}
	return string(found[1])
}

func allowed(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
		return ' '
	}
	return r
}

// tokens reads untrusted XML token by token, without matching start and end tags. After a malformed
// place it continues with the next tag.
type tokens struct {
	decoder  *xml.Decoder
	in       *bufio.Reader
	left     int
	restarts int
	broken   error // the first malformed place
}

func newTokens(in *bufio.Reader) *tokens {
	t := &tokens{in: in}
	t.restart()
	return t
}

func (t *tokens) restart() {
	t.decoder = xml.NewDecoder(t)
	t.decoder.Strict = false // "&" in a URL is a common mistake
	// the text is in UTF-8, whatever a second declaration says
	t.decoder.CharsetReader = func(string, io.Reader) (io.Reader, error) { return t, nil }
}

// next returns the next token. It is valid until the following call.
func (t *tokens) next() (xml.Token, error) {
	for {
		t.left = tokenBytesMax
		token, err := t.decoder.RawToken()
		if err == nil || errors.Is(err, io.EOF) {
			return token, err
		}
		t.broken = cmp.Or(t.broken, err)
		if t.restarts++; t.restarts > restartsMax {
			return nil, err
		}
		if err := t.skipToTag(); err != nil {
			return nil, err
		}
		t.restart()
	}
}

// skipToTag reads up to the next "<".
func (t *tokens) skipToTag() error {
	for {
		b, err := t.in.ReadByte()
		if err != nil {
			return err
		}
		if b == '<' {
			return t.in.UnreadByte()
		}
	}
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
