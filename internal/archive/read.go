package archive

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"github.com/mosey-web/mosey/crawl"
)

// ErrDamaged reports a record that is missing or differs from its row.
var ErrDamaged = errors.New("the archive is damaged")

// maxHeadBytes bounds the fields of a record.
const maxHeadBytes = 64 << 10

// checkName refuses a stored name of a file that is elsewhere.
func checkName(name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%w: %q is not the name of a file", crawl.ErrInvalid, name)
	}
	return nil
}

// Read calls fn with the URL and the bytes of an archived response: its head and its body, as they
// were received. A record of another kind is ErrDamaged, and so are other bytes.
func Read(ctx context.Context, from Place, at crawl.Archived, fn func(url string, response io.Reader) error) error {
	var fnErr error
	err := readRecord(ctx, from, at, func(r *storedRecord) error {
		if kind := r.fields.Get("WARC-Type"); kind != "response" {
			return fmt.Errorf("a %s record, not a response", kind)
		}
		fnErr = fn(r.fields.Get("WARC-Target-URI"), r.block)
		return nil
	})
	return cmp.Or(err, fnErr)
}

// readRecord calls fn with a record. Its error, and one of the record, is ErrDamaged, except a
// failure of the place.
func readRecord(ctx context.Context, from Place, at crawl.Archived, fn func(*storedRecord) error) (err error) {
	if err := checkName(at.File); err != nil {
		return err
	}
	f, err := from.open(ctx, at.File, at.Offset, at.Length)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := &countingReader{in: f}
	r, err := parse(in)
	if err == nil {
		err = fn(r)
	}
	if err == nil {
		err = r.end()
	}
	if in.err != nil {
		return in.err
	}
	if err != nil {
		return fmt.Errorf("%w: %s at %d: %w", ErrDamaged, at.File, at.Offset, err)
	}
	return nil
}

// storedRecord is a record that is being read.
type storedRecord struct {
	fields textproto.MIMEHeader
	block  io.Reader
	member *gzip.Reader
}

// parse begins to read a record in a gzip member.
func parse(member io.Reader) (*storedRecord, error) {
	unzipped, err := gzip.NewReader(member)
	if err != nil {
		return nil, err
	}
	unzipped.Multistream(false)
	head := bufio.NewReader(&io.LimitedReader{R: unzipped, N: maxHeadBytes})
	version, err := head.ReadString('\n')
	if err != nil || version != "WARC/1.1\r\n" {
		return nil, errors.Join(errors.New("not a record of WARC 1.1"), err)
	}
	fields, err := textproto.NewReader(head).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseInt(fields.Get("Content-Length"), 10, 64)
	if err != nil {
		return nil, err
	}
	return &storedRecord{fields: fields, block: io.LimitReader(io.MultiReader(head, unzipped), size), member: unzipped}, nil
}

// end reads the rest of the record, and checks the checksum of the gzip member.
func (r *storedRecord) end() error {
	if _, err := io.Copy(io.Discard, r.block); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, r.member)
	return err
}
