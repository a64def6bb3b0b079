package seedfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
)

// MaxRecordBytes caps a line, a record of CSV and a tag of OPML. A longer record is a [BadLine].
const MaxRecordBytes = 64 << 10

// sources are the supported sources.
var sources = []seeds.Source{seeds.URLs, seeds.CSV, seeds.Tranco, seeds.Majestic, seeds.OPML}

// Options describe how to read a list.
type Options struct {
	// Source is the format of the list. URLs and CSV skip blank lines and lines that begin with #.
	// CSV is a table by RFC 4180, with an optional header, separated by commas, semicolons or tabs.
	Source seeds.Source

	// Column is the column of the seeds, only for CSV: a name in the header, ignoring case, or a
	// number from 1. If empty, it is the first usual name in the header, such as url, domain or
	// host, or else the first column with a URL or a host in the first record. RankColumn is the
	// column of the ranks. If empty, it is the column rank or GlobalRank.
	Column, RankColumn string

	// Offset is the number of entries to skip, and Limit the most entries to read. Bad lines count
	// as entries. A limit of 0 means no limit.
	Offset, Limit int64
}

// Key identifies a list with these options. Equal keys mean the same entries.
func (o Options) Key(list ...string) string {
	return strings.Join(append([]string{
		string(o.Source), o.Column, strconv.FormatInt(o.Offset, 10), strconv.FormatInt(o.Limit, 10),
	}, list...), "\n")
}

// After returns options to resume after a number of entries were read.
func (o Options) After(entries int64) Options {
	o.Offset += entries
	if o.Limit > 0 {
		if o.Limit -= entries; o.Limit <= 0 {
			o.Offset, o.Limit = math.MaxInt64, 1 // nothing is left
		}
	}
	return o
}

// Validate returns an error that wraps [crawl.ErrInvalid] if the options are invalid for any list.
func (o Options) Validate() error {
	switch {
	case !slices.Contains(sources, o.Source):
		return fmt.Errorf("%w: source %q: unknown; want one of %v", crawl.ErrInvalid, displayText(string(o.Source)), sources)
	case o.Offset < 0:
		return fmt.Errorf("%w: offset %d: want 0 or more entries to skip", crawl.ErrInvalid, o.Offset)
	case o.Limit < 0:
		return fmt.Errorf("%w: limit %d: want 1 or more entries to read, or 0 for all", crawl.ErrInvalid, o.Limit)
	case o.Source != seeds.CSV && o.Column != "":
		return fmt.Errorf("%w: column %q: only the source csv has columns to choose from, not %s",
			crawl.ErrInvalid, displayText(o.Column), o.Source)
	case o.Source != seeds.CSV && o.RankColumn != "":
		return fmt.Errorf("%w: rank column %q: only the source csv has columns to choose from, not %s",
			crawl.ErrInvalid, displayText(o.RankColumn), o.Source)
	}
	return nil
}

// Entry is a seed of a list.
type Entry struct {
	// Line is the first line of its record, from 1, after unpacking.
	Line int64
	// Seed is a URL or a host as written in the list: valid UTF-8 without control characters, at
	// most [MaxRecordBytes] long. URL is Seed as parsed by [urls.ParseSeed].
	Seed string
	URL  urls.URL
	// Feed is set if it is a feed, not a page.
	Feed bool
	// Rank is its position in the list from 1; 0 means unknown.
	Rank int64
}

// BadLine is an entry that was skipped because it is not a seed.
type BadLine struct {
	// Line is its first line, from 1, after unpacking.
	Line int64
	// Text is its displayable beginning: at most 80 bytes without control characters and passwords.
	// Reason describes the error in a few words.
	Text, Reason string
}

// Read calls entry for each seed of a list and bad for each bad line, in the order of the list. If
// a callback returns an error, Read stops and returns it.
//
// Read also returns the errors of r and ctx. It returns errors that wrap [crawl.ErrInvalid] if the
// options do not fit the list. [Open] and [From] unpack packed lists.
func Read(ctx context.Context, r io.Reader, o Options, entry func(Entry) error, bad func(BadLine) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	in, err := skipByteOrderMark(contextReader{ctx, r})
	if err != nil {
		return err
	}
	l := &list{ctxErr: ctx.Err, entry: entry, bad: bad, skip: o.Offset, left: o.Limit}
	switch o.Source {
	case seeds.URLs:
		err = readURLs(newLines(in), l)
	case seeds.OPML:
		err = readOPML(in, l)
	default:
		err = readTable(newLines(in), o, l)
	}
	if errors.Is(err, errLimitReached) {
		return nil
	}
	return err
}

// skipByteOrderMark removes a byte order mark, and refuses UTF-16, which has no readable lines.
func skipByteOrderMark(r io.Reader) (io.Reader, error) {
	// A small buffer is soon empty, and then bypassed.
	in := bufio.NewReaderSize(r, 16)
	head, err := in.Peek(len("\ufeff"))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read the list: %w", err)
	case string(head) == "\ufeff":
		_, err := in.Discard(len(head))
		return in, err
	case len(head) >= 2 && (string(head[:2]) == "\xff\xfe" || string(head[:2]) == "\xfe\xff"):
		return nil, fmt.Errorf("%w: the list is in UTF-16; want UTF-8, as iconv -f UTF-16 -t UTF-8 writes", crawl.ErrInvalid)
	}
	return in, nil
}

// contextReader reads until a context is done.
type contextReader struct {
	ctx context.Context //nolint:containedctx // it is an argument of Read, for as long as Read runs
	r   io.Reader
}

func (u contextReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// textBytesMax caps BadLine.Text. reasonBytesMax caps reasons, which may quote the list.
const (
	textBytesMax   = 80
	reasonBytesMax = 120
)

// errLimitReached stops reading at the limit of entries.
var errLimitReached = errors.New("the limit of entries is reached")

// Reasons to refuse a text that [urls.ParseSeed] may accept.
var (
	errNoSeed        = errors.New("the URL or host is missing")
	errNotUTF8       = errors.New("the line is not in UTF-8")
	errControl       = errors.New("the line has a tab, a line end or another control character")
	errNumber        = errors.New("a number is neither a URL nor a host")
	errInvalidSeed   = errors.New("neither an http or https URL nor a host")
	errLineTooLong   = errors.New("the line is longer than 64 KiB")
	errQuote         = errors.New("a quoted field does not end in a quote and a separator")
	errUnclosedQuote = errors.New("a quote is not closed within 100 lines and 64 KiB")
)

// list holds the callbacks of a list and the remaining entries to skip and to read.
type list struct {
	ctxErr func() error // the context's error
	entry  func(Entry) error
	bad    func(BadLine) error
	skip   int64
	left   int64 // less than 1 means no limit
}

// isPastOffset reports whether an entry is past the offset. Call it once for each entry.
func (l *list) isPastOffset() bool {
	if l.skip > 0 {
		l.skip--
		return false
	}
	return true
}

// add reads a wanted entry as a seed. The caller has set all fields of e that text does not affect.
func (l *list) add(text []byte, e Entry) error {
	if err := l.ctxErr(); err != nil {
		return err
	}
	e.Seed = string(bytes.TrimSpace(text))
	u, err := parse(e.Seed)
	if err != nil {
		return l.refuse(e.Line, e.Seed, err)
	}
	e.URL = u
	if err := l.entry(e); err != nil {
		return err
	}
	return l.countEntry()
}

// refuse reports a wanted entry that is not a seed.
func (l *list) refuse(line int64, text string, err error) error {
	if err := l.reportBad(line, text, err); err != nil {
		return err
	}
	return l.countEntry()
}

func (l *list) reportBad(line int64, text string, err error) error {
	if urlErr := (*urls.Error)(nil); errors.As(err, &urlErr) {
		text, err = urlErr.Input, urlErr.Reason
	} else {
		text = withoutPassword(text)
	}
	return l.bad(BadLine{Line: line, Text: displayText(text), Reason: crawl.CleanText(err.Error(), reasonBytesMax)})
}

// countEntry counts a wanted entry.
func (l *list) countEntry() error {
	if l.left--; l.left == 0 {
		return errLimitReached
	}
	return nil
}

// parse is like [urls.ParseSeed] without two habits of browsers. It does not drop tabs, which would
// merge two columns into one host, and does not read a rank as an IPv4 address.
func parse(seed string) (urls.URL, error) {
	switch {
	case seed == "":
		return urls.URL{}, errNoSeed
	case !utf8.ValidString(seed):
		return urls.URL{}, errNotUTF8
	case strings.ContainsFunc(seed, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return urls.URL{}, errControl
	case '0' <= seed[0] && seed[0] <= '9' && strings.Trim(seed, "0123456789.") == "" && strings.Count(seed, ".") != 3:
		// a number, version or date (12, 0.85, 24.12.2026), not IPv4
		return urls.URL{}, errNumber
	}
	u, err := urls.ParseSeed(seed)
	if errors.Is(err, urls.ErrScheme) && urls.IsSchemeless(seed) {
		return u, errInvalidSeed
	}
	return u, err
}

// withoutPassword removes possible passwords from a text in any format. Removing other text does
// little harm. For refused URLs, package urls does it better.
func withoutPassword(text string) string {
	at, colon := strings.LastIndexByte(text, '@'), strings.IndexByte(text, ':')
	if colon < 0 || at < colon {
		return text
	}
	return text[:colon+1] + ellipsis + text[at:]
}

const ellipsis = "…"

// displayText returns a displayable text of limited length.
func displayText(text string) string {
	clean := crawl.CleanText(strings.TrimSpace(text), textBytesMax+utf8.UTFMax)
	if len(clean) <= textBytesMax {
		return clean
	}
	return crawl.CleanText(clean, textBytesMax-len(ellipsis)) + ellipsis
}
