package archive

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// The media types of blocks, and the profiles of revisit records: WARC 1.1, sections 6 and 6.7.
const (
	responseType = "application/http;msgtype=response"
	requestType  = "application/http;msgtype=request"
	fieldsType   = "application/warc-fields"

	profileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	profileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// record is a record to write. Its fields have no line breaks.
type record struct {
	id     string
	fields [][2]string
	// block returns the content, which is read more than once.
	block func() io.Reader
}

// newRecord makes a record of a kind, with a new id and the digest of its block.
func newRecord(kind string, at time.Time, mediaType string, block func() io.Reader) (record, error) {
	r := record{id: newID(), block: block}
	size, digest, err := digestOf(block())
	r.fields = [][2]string{
		{"WARC-Type", kind},
		{"WARC-Record-ID", r.id},
		{"WARC-Date", timestamp(at)},
		{"Content-Type", mediaType},
		{"Content-Length", strconv.FormatInt(size, 10)},
		{"WARC-Block-Digest", digest},
	}
	return r, err
}

// newID returns a random UUID (RFC 9562, version 4) as a WARC-Record-ID.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func (r *record) add(name, value string) {
	if value != "" {
		r.fields = append(r.fields, [2]string{name, value})
	}
}

// writeTo writes the record.
func (r *record) writeTo(w io.Writer) error {
	var head strings.Builder
	head.WriteString("WARC/1.1\r\n")
	for _, field := range r.fields {
		head.WriteString(field[0] + ": " + field[1] + "\r\n")
	}
	head.WriteString("\r\n")
	_, err := io.Copy(w, io.MultiReader(strings.NewReader(head.String()), r.block(), strings.NewReader("\r\n\r\n")))
	return err
}

// timestamp writes a WARC-Date.
func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func digestOf(content io.Reader) (size int64, digest string, err error) {
	size, digest, err = hexDigest(content)
	return size, digestPrefix + digest, err
}

const digestPrefix = "sha256:"

// hexDigest returns the size of a content and its SHA-256 in hexadecimal digits.
func hexDigest(content io.Reader) (size int64, digest string, err error) {
	sum := sha256.New()
	size, err = io.Copy(sum, content)
	return size, hex.EncodeToString(sum.Sum(nil)), err
}

// response makes the record of the response: a revisit record if the payload is the one of Earlier.
func (x Exchange) response() (record, crawl.Archived, error) {
	_, digest, err := digestOf(x.Capture.Payload())
	if err != nil {
		return record{}, crawl.Archived{}, err
	}
	archived := crawl.Archived{Digest: digest, At: x.At, Truncated: x.Truncated != ""}
	profile := ""
	switch {
	case x.Earlier == nil || archived.Truncated:
	case x.NotModified:
		profile = profileNotModified
	case x.Earlier.Digest == digest:
		profile = profileIdentical
	}
	kind, block := "response", x.Capture.Received
	if profile != "" {
		kind, block = "revisit", x.Capture.Head
		archived.Digest, archived.Revisit = x.Earlier.Digest, true
	}
	r, err := newRecord(kind, x.At, responseType, block)
	r.add("WARC-Target-URI", x.URL)
	r.add("WARC-IP-Address", x.IP)
	r.add("WARC-Payload-Digest", archived.Digest)
	r.add("WARC-Truncated", x.Truncated)
	if profile != "" {
		r.add("WARC-Profile", profile)
		r.add("WARC-Refers-To-Target-URI", x.URL)
		r.add("WARC-Refers-To-Date", timestamp(x.Earlier.At))
	}
	return r, archived, err
}

// request makes the record of the request, which names the response's.
func (x Exchange) request(response record) (record, error) {
	r, err := newRecord("request", x.At, requestType, x.Capture.Request)
	r.add("WARC-Target-URI", x.URL)
	r.add("WARC-IP-Address", x.IP)
	r.add("WARC-Concurrent-To", response.id)
	return r, err
}

// describe makes the first record of a file (warcinfo).
func (a *Archive) describe(name string, x Exchange) (record, error) {
	settings, err := json.Marshal(x.Settings)
	if err != nil {
		return record{}, fmt.Errorf("write the settings of run %s: %w", x.Run, err)
	}
	var fields strings.Builder
	for _, field := range [][2]string{
		{"software", a.config.Software},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"http-header-user-agent", a.config.UserAgent},
		{"robots", "obeyed (RFC 9309)"},
		{"isPartOf", x.Run},
		{"settings", string(settings)},
	} {
		if field[1] != "" {
			fields.WriteString(field[0] + ": " + field[1] + "\r\n")
		}
	}
	r, err := newRecord("warcinfo", x.At, fieldsType, func() io.Reader { return strings.NewReader(fields.String()) })
	r.add("WARC-Filename", name)
	return r, err
}
