package seedfile

import (
	"bytes"
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

// table reads the seeds of a table.
type table struct {
	records

	o    Options
	list *list
	// The columns, from 0, or unknown.
	seed, rank int
	// header holds the names of the columns; nil means no header.
	header []string
}

func readTable(in *lines, o Options, l *list) error {
	switch o.Source {
	case seeds.Tranco:
		o.Column, o.RankColumn = "2", "1"
	case seeds.Majestic:
		o.Column, o.RankColumn = "Domain", "GlobalRank"
	default: // as set in the options
	}
	t := &table{records: records{in: in}, o: o, list: l, seed: unknownColumn, rank: unknownColumn}
	err := t.record(t.detect)
	if err == nil {
		err = t.begin()
	}
	for err == nil {
		err = t.next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// record scans the next record without taking it. It skips empty lines and refuses broken records.
func (t *table) record(scan func() error) error {
	for {
		line, size, err := t.in.peek(0)
		switch {
		case errors.Is(err, errLineTooLong):
			err = refuseLongLine(t.in, t.list)
		case err == nil && isIgnored(line):
			t.in.take(size, 1)
		case err == nil:
			err = scan()
			switch {
			case errors.Is(err, errQuote), errors.Is(err, errUnclosedQuote):
				err = t.skipBroken(err)
			case err == nil && len(bytes.TrimSpace(t.text)) > 0:
				return nil
			case err == nil:
				t.take() // spreadsheets write an empty row as separators
			}
		}
		if err != nil {
			return err
		}
	}
}

func (t *table) take() { t.in.take(t.size, t.lines) }

// skipBroken refuses a record without a known end. The next record may begin in its second line.
func (t *table) skipBroken(reason error) error {
	number, head := t.in.number, t.in.head()
	_, size, err := t.in.peek(0)
	if err != nil {
		return err
	}
	t.in.take(size, 1)
	if !t.list.isPastOffset() {
		return nil
	}
	return t.list.refuse(number, head, reason)
}

// detect scans the first record and detects the separator of its fields.
func (t *table) detect() error {
	// The rarest in URLs first, which is also the choice if no separator occurs.
	separators := "\t,;"
	if t.o.Source != seeds.CSV {
		separators = ","
	}
	best, bestScore, scanErr := byte(0), -1, error(nil)
	for _, separator := range []byte(separators) {
		t.separator = separator
		if err := t.scan(); err != nil {
			scanErr = err
			continue
		}
		if score := t.score(); score > bestScore {
			best, bestScore = separator, score
		}
	}
	if bestScore < 0 {
		return scanErr
	}
	t.separator = best
	return t.scan()
}

// score rates how plausible the fields of the first record are.
func (t *table) score() int {
	fields := t.strings()
	switch {
	case len(fields) == 1:
		return 0
	case t.isHeader(fields), likeliest(fields) > unlikely:
		return math.MaxInt
	default:
		return len(fields)
	}
}

// next reads a record.
func (t *table) next() error {
	if err := t.record(t.scan); err != nil {
		return err
	}
	if t.seed == unknownColumn {
		var err error
		if t.seed, err = t.guess(); err != nil {
			return err
		}
	}
	number := t.in.number
	var reason error
	switch {
	case !t.list.isPastOffset():
		t.take()
		return nil
	case t.seed >= len(t.ends):
		reason = fmt.Errorf("column %d is missing", t.seed+1)
	case len(bytes.TrimSpace(t.field(t.seed))) == 0:
		reason = errNoSeed
	default:
		t.take()
		return t.list.add(t.field(t.seed), Entry{Line: number, Rank: t.rankOf()})
	}
	head := t.in.head()
	t.take()
	return t.list.refuse(number, head, reason)
}

// rankOf returns the rank of the scanned record, or 0.
func (t *table) rankOf() int64 {
	if t.rank == unknownColumn || t.rank >= len(t.ends) {
		return 0
	}
	rank, err := strconv.ParseInt(string(bytes.TrimSpace(t.field(t.rank))), 10, 64)
	if err != nil {
		return 0
	}
	return max(rank, 0)
}

// unknownColumn means an unknown or missing column.
const unknownColumn = -1

// The usual names of columns in the form of fold. The first match counts.
var (
	seedNames = []string{
		"url", "domain", "host", "hostname", "site", "website", "uri", "origin", "homepage", "link",
		"fqdn", "domainname", "rootdomain", "siteurl", "websiteurl", "pageurl",
	}
	rankNames = []string{"rank", "globalrank"}
)

// begin finds the columns by the first record, and takes it if it is a header.
func (t *table) begin() error {
	first := t.strings()
	if t.isHeader(first) || likeliest(first) == unlikely && t.o.Source != seeds.Tranco {
		t.header = first
		t.take()
	}
	var err error
	if t.seed, err = t.find("column", t.o.Column, seedNames, first); err != nil {
		return err
	}
	t.rank, err = t.find("rank column", t.o.RankColumn, rankNames, first)
	return err
}

// isHeader reports whether a first record has the requested names, or usual names and no seed.
func (t *table) isHeader(first []string) bool {
	for _, requested := range []string{t.o.Column, t.o.RankColumn} {
		if requested != "" && !isColumnNumber(requested) && indexOf(first, requested) != unknownColumn {
			return true
		}
	}
	named := slices.ContainsFunc(seedNames, func(name string) bool { return indexOf(first, name) != unknownColumn })
	return named && likeliest(first) < certain
}

// find returns the column that an option requests, or else the first column with a usual name.
func (t *table) find(option, requested string, usualNames, first []string) (int, error) {
	if requested == "" {
		for _, name := range usualNames {
			if i := indexOf(t.header, name); i != unknownColumn {
				return i, nil
			}
		}
		return unknownColumn, nil
	}
	if isColumnNumber(requested) {
		if n, err := strconv.Atoi(requested); err == nil && 1 <= n && n <= len(first) {
			return n - 1, nil
		}
	} else if i := indexOf(t.header, requested); i != unknownColumn {
		return i, nil
	}
	if t.o.Source != seeds.CSV {
		return unknownColumn, fmt.Errorf("%w: source %s: the list has no column %s; want another source, or a list with %s",
			crawl.ErrInvalid, t.o.Source, requested, columnsOf[t.o.Source])
	}
	return unknownColumn, fmt.Errorf("%w: %s %q: the list has no such column; want %s",
		crawl.ErrInvalid, option, displayText(requested), t.choices(len(first)))
}

var columnsOf = map[seeds.Source]string{
	seeds.Tranco:   "a rank, a comma and a domain per line",
	seeds.Majestic: "a header that names GlobalRank and Domain",
}

// guess returns the column of the scanned record that contains a seed.
func (t *table) guess() (int, error) {
	fields := t.strings()
	if len(fields) == 1 {
		return 0, nil
	}
	likely := likeliest(fields)
	if likely == unlikely {
		return unknownColumn, fmt.Errorf("%w: column: line %d of the list has no URL and no host; name the column: %s",
			crawl.ErrInvalid, t.in.number, t.choices(len(fields)))
	}
	return slices.IndexFunc(fields, func(field string) bool { return likelihood(field) == likely }), nil
}

func (t *table) choices(count int) string {
	const shownMax, nameBytesMax = 20, 40
	number := "1, its only column"
	if count > 1 {
		number = fmt.Sprintf("a number from 1 to %d", count)
	}
	if t.header == nil {
		return number + ", because the list has no header"
	}
	var b strings.Builder
	for i, name := range t.header {
		if i == shownMax {
			fmt.Fprintf(&b, "%d more, ", len(t.header)-i)
			break
		}
		fmt.Fprintf(&b, "%q, ", crawl.CleanText(name, nameBytesMax))
	}
	return b.String() + "or " + number
}

func indexOf(fields []string, name string) int {
	name = normalizeName(name)
	return slices.IndexFunc(fields, func(field string) bool { return normalizeName(field) == name })
}

// normalizeName normalizes spellings of a name, such as Root Domain and root_domain.
func normalizeName(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
}

func isColumnNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// The likelihood that a field is a seed.
const (
	unlikely = iota
	// possible is a field in the form of a host, such as node.js.
	possible
	// certain is a field with a scheme, or a host below a known suffix.
	certain
)

func likelihood(field string) int {
	switch u, err := parse(field); {
	case err != nil:
		return unlikely
	case !urls.IsSchemeless(field), u.IsRegistered():
		return certain
	default:
		return possible
	}
}

func likeliest(fields []string) int {
	likely := unlikely
	for _, field := range fields {
		likely = max(likely, likelihood(field))
	}
	return likely
}
