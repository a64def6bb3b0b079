package seedfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
)

// MaxRecordBytes bounds a line, a record of CSV and a tag of OPML. What is longer is a
// [BadLine].
const MaxRecordBytes = 64 << 10

// The sources that are lists, and so can be read.
const (
	// URLs has one URL or host a line. Blank lines and those that begin with # are
	// skipped.
	URLs = seeds.URLs
	// CSV is a table as RFC 4180 says, with or without a header, its fields separated by
	// commas, semicolons or tabs. Blank lines and lines that begin with # are skipped.
	CSV = seeds.CSV
	// Tranco is rank and domain, without a header.
	Tranco = seeds.Tranco
	// Majestic has a header that names GlobalRank and Domain.
	Majestic = seeds.Majestic
	// OPML has outlines, of which each gives its site, htmlUrl, and its feed, xmlUrl.
	OPML = seeds.OPML
)

// Sources returns all of them.
func Sources() []seeds.Source { return []seeds.Source{URLs, CSV, Tranco, Majestic, OPML} }

// Options say how to read a list.
type Options struct {
	Source seeds.Source

	// Column is, for CSV alone, where the seeds are: a name in the header, whatever its
	// case, or a number from 1. If it is empty, it is the first of the usual names in the
	// header, such as url, domain or host; else the first column of the first record that
	// holds a URL or a host.
	Column string
	// RankColumn is, for CSV alone, where the ranks are. Where it is empty it is what the
	// header calls rank or GlobalRank, if there is such a column.
	RankColumn string

	// Offset is how many entries are skipped before the first. Bad lines count as entries.
	Offset int64
	// Limit is how many entries are read at most, bad lines among them. 0 means no limit.
	Limit int64
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
	case !slices.Contains(Sources(), o.Source):
		return fmt.Errorf("%w: source %q: unknown; want one of %v", crawl.ErrInvalid, shown(string(o.Source)), Sources())
	case o.Offset < 0:
		return fmt.Errorf("%w: offset %d: is negative; want 0 or more entries to skip", crawl.ErrInvalid, o.Offset)
	case o.Limit < 0:
		return fmt.Errorf("%w: limit %d: is negative; want 1 or more entries to read, or 0 for all", crawl.ErrInvalid, o.Limit)
	case o.Source != CSV && o.Column != "":
		return fmt.Errorf("%w: column %q: only a list of the source csv has columns to choose from, not one of %s",
			crawl.ErrInvalid, shown(o.Column), o.Source)
	case o.Source != CSV && o.RankColumn != "":
		return fmt.Errorf("%w: rank column %q: only a list of the source csv has columns to choose from, not one of %s",
			crawl.ErrInvalid, shown(o.RankColumn), o.Source)
	}
	return nil
}

// Entry is a seed of a list.
type Entry struct {
	// Line is where its record begins, from 1, after unpacking.
	Line int64
	// Seed is what the list says without the space around it: a URL or a host, valid
	// UTF-8 without control characters, at most [MaxRecordBytes] long.
	Seed string
	// URL is what [urls.ParseSeed] takes Seed for.
	URL urls.URL
	// Bare is set if Seed has no scheme.
	Bare bool
	// Feed is set if it is a feed, not a page.
	Feed bool
	// Rank is its place in the list from 1; 0 if the list does not say.
	Rank int64
}

// BadLine is what was skipped because it is not a seed.
type BadLine struct {
	// Line is where it begins, from 1, after unpacking.
	Line int64
	// Text is the beginning of it, fit to be shown: at most 80 bytes without control
	// characters and passwords.
	Text string
	// Reason says in a few words what is wrong.
	Reason string
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
	case URLs:
		err = readURLs(newLines(in), l)
	case OPML:
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
