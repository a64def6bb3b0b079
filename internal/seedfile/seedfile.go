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

// MaxRecordBytes bounds a line, a record of CSV and a tag of OPML. What is longer is a
// [BadLine].
const MaxRecordBytes = 64 << 10

// sources are those that can be read.
var sources = []seeds.Source{seeds.URLs, seeds.CSV, seeds.Tranco, seeds.Majestic, seeds.OPML}

// Options say how to read a list.
type Options struct {
	// Source is the format of the list. URLs and CSV skip blank lines and lines that begin
	// with #. CSV is a table as RFC 4180 says, with or without a header, its fields separated
	// by commas, semicolons or tabs.
	Source seeds.Source

	// Column is, for CSV alone, where the seeds are: a name in the header, whatever its
	// case, or a number from 1. If it is empty, it is the first of the usual names in the
	// header, such as url, domain or host; else the first column of the first record that
	// holds a URL or a host. RankColumn is where the ranks are; if it is empty, the column
	// rank or GlobalRank.
	Column, RankColumn string

	// Offset is how many entries are skipped before the first, and Limit how many are read at
	// most. Bad lines count as entries. 0 means no limit.
	Offset, Limit int64
}

// Key names a list that is read so: the same for the same entries of it.
func (o Options) Key(list ...string) string {
	return strings.Join(append([]string{
		string(o.Source), o.Column, strconv.FormatInt(o.Offset, 10), strconv.FormatInt(o.Limit, 10),
	}, list...), "\n")
}

// After are the options to read on with after a number of entries that they had read.
func (o Options) After(entries int64) Options {
	o.Offset += entries
	if o.Limit > 0 {
		if o.Limit -= entries; o.Limit <= 0 {
			o.Offset, o.Limit = math.MaxInt64, 1 // nothing is left
		}
	}
	return o
}

// Validate returns an error that wraps [crawl.ErrInvalid] if the options make no sense,
// whatever the list.
func (o Options) Validate() error {
	switch {
	case !slices.Contains(sources, o.Source):
		return fmt.Errorf("%w: source %q: unknown; want one of %v", crawl.ErrInvalid, shown(string(o.Source)), sources)
	case o.Offset < 0:
		return fmt.Errorf("%w: offset %d: is negative; want 0 or more entries to skip", crawl.ErrInvalid, o.Offset)
	case o.Limit < 0:
		return fmt.Errorf("%w: limit %d: is negative; want 1 or more entries to read, or 0 for all", crawl.ErrInvalid, o.Limit)
	case o.Source != seeds.CSV && o.Column != "":
		return fmt.Errorf("%w: column %q: only a list of the source csv has columns to choose from, not one of %s",
			crawl.ErrInvalid, shown(o.Column), o.Source)
	case o.Source != seeds.CSV && o.RankColumn != "":
		return fmt.Errorf("%w: rank column %q: only a list of the source csv has columns to choose from, not one of %s",
			crawl.ErrInvalid, shown(o.RankColumn), o.Source)
	}
	return nil
}

// Entry is a seed of a list.
type Entry struct {
	// Line is where its record begins, from 1, after unpacking.
	Line int64
	// Seed is a URL or a host as the list has it: valid UTF-8 without control characters, at
	// most [MaxRecordBytes] long. URL is Seed as [urls.ParseSeed] reads it.
	Seed string
	URL  urls.URL
	// Bare is set if Seed has no scheme, and Feed if it is a feed, not a page.
	Bare, Feed bool
	// Rank is its place in the list from 1; 0 if the list does not say.
	Rank int64
}

// BadLine is what was skipped because it is not a seed.
type BadLine struct {
	// Line is where it begins, from 1, after unpacking.
	Line int64
	// Text is its beginning, fit to be shown: at most 80 bytes without control characters
	// and passwords. Reason says in a few words what is wrong.
	Text, Reason string
}

// Read calls entry for each seed of a list and bad for what is not one, in the order of the
// list. An error that either of them returns ends it and is returned.
//
// Other errors are those of r and ctx, and ones that wrap [crawl.ErrInvalid] if the
// options are wrong for this list. A packed list is for [Open] or [From] to unpack.
func Read(ctx context.Context, r io.Reader, o Options, entry func(Entry) error, bad func(BadLine) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	in, err := start(untilDone{ctx, r})
	if err != nil {
		return err
	}
	l := &list{ended: ctx.Err, entry: entry, bad: bad, skip: o.Offset, left: o.Limit}
	switch o.Source {
	case seeds.URLs:
		err = readURLs(newLines(in), l)
	case seeds.OPML:
		err = readOPML(in, l)
	default:
		err = readTable(newLines(in), o, l)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// start drops a byte order mark, and refuses text of which no line could be read.
func start(r io.Reader) (io.Reader, error) {
	// So small a buffer is soon empty, and then passed by.
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

// untilDone reads until a context is done.
type untilDone struct {
	ctx context.Context //nolint:containedctx // it is an argument of Read, for as long as Read runs
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// textBytesMax bounds BadLine.Text, reasonBytesMax what of a reason is not ours.
const (
	textBytesMax   = 80
	reasonBytesMax = 120
)

// errEnough ends a list once the limit of entries is reached.
var errEnough = errors.New("enough entries are read")

// Reasons for which a text is not a seed although [urls.ParseSeed] may take it for one.
var (
	errNoSeed    = errors.New("there is no URL and no host")
	errNotUTF8   = errors.New("it is not in UTF-8")
	errControl   = errors.New("there is a tab, a line end or another control character in it")
	errNumber    = errors.New("it is a number, neither a URL nor a host")
	errNeither   = errors.New("it is neither a URL of http or https nor a host")
	errLineLong  = errors.New("it is longer than 64 KiB")
	errQuote     = errors.New("a quoted field does not end in a quote and a separator")
	errQuoteOpen = errors.New("a quote is not closed within 100 lines and 64 KiB")
)

// list is what is asked of a list, and how much of it is left to do.
type list struct {
	ended func() error // why there is nobody to read it any more
	entry func(Entry) error
	bad   func(BadLine) error
	skip  int64
	left  int64 // less than 1 is no limit
}

// wanted reports whether an entry is past the offset. It is asked once for each.
func (l *list) wanted() bool {
	if l.skip > 0 {
		l.skip--
		return false
	}
	return true
}

// add reads a text that is wanted as a seed. Of e all is set but what the seed says.
func (l *list) add(text []byte, e Entry) error {
	if err := l.ended(); err != nil {
		return err
	}
	e.Seed = string(bytes.TrimSpace(text))
	u, err := parse(e.Seed)
	if err != nil {
		return l.refuse(e.Line, e.Seed, err)
	}
	e.URL = u
	e.Bare = urls.IsBare(e.Seed)
	if err := l.entry(e); err != nil {
		return err
	}
	return l.done()
}

// refuse reports an entry that is wanted and not a seed.
func (l *list) refuse(line int64, text string, err error) error {
	if err := l.tell(line, text, err); err != nil {
		return err
	}
	return l.done()
}

func (l *list) tell(line int64, text string, err error) error {
	if refused := (*urls.Error)(nil); errors.As(err, &refused) {
		text, err = refused.Input, refused.Reason
	} else {
		text = withoutPassword(text)
	}
	return l.bad(BadLine{Line: line, Text: shown(text), Reason: crawl.CleanText(err.Error(), reasonBytesMax)})
}

// done counts an entry that was wanted.
func (l *list) done() error {
	if l.left--; l.left == 0 {
		return errEnough
	}
	return nil
}

// parse is [urls.ParseSeed] without two habits of browsers: dropping tabs, by which
// two columns would become one host, and reading a rank as an IPv4 address.
func parse(seed string) (urls.URL, error) {
	switch {
	case seed == "":
		return urls.URL{}, errNoSeed
	case !utf8.ValidString(seed):
		return urls.URL{}, errNotUTF8
	case strings.ContainsFunc(seed, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return urls.URL{}, errControl
	case isNumber(seed):
		return urls.URL{}, errNumber
	}
	u, err := urls.ParseSeed(seed)
	if errors.Is(err, urls.ErrScheme) && urls.IsBare(seed) {
		return u, errNeither
	}
	return u, err
}

// isNumber reports whether a text is a number, a version or a date such as 12, 0.85 or
// 24.12.2026, and not the four numbers of an IPv4 address.
func isNumber(s string) bool {
	return '0' <= s[0] && s[0] <= '9' && strings.Trim(s, "0123456789.") == "" && strings.Count(s, ".") != 3
}

// withoutPassword leaves out of a text of any form what may be one. Where it is not, little
// is lost. Of a URL that is refused, package urls does it better.
func withoutPassword(text string) string {
	at, colon := strings.LastIndexByte(text, '@'), strings.IndexByte(text, ':')
	if colon < 0 || at < colon {
		return text
	}
	return text[:colon+1] + ellipsis + text[at:]
}

const ellipsis = "…"

// shown is a text cut to a length at which it can be shown.
func shown(text string) string {
	clean := crawl.CleanText(strings.TrimSpace(text), textBytesMax+utf8.UTFMax)
	if len(clean) <= textBytesMax {
		return clean
	}
	return crawl.CleanText(clean, textBytesMax-len(ellipsis)) + ellipsis
}
