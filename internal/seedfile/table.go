package seedfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// table reads the seeds of a table.
type table struct {
	records

	o    Options
	list *list
	// The columns, from 0, or unknown.
	seed, rank int
	// header has the names of the columns; nil if there is none.
	header []string
}

func readTable(in *lines, o Options, l *list) error {
	switch o.Source {
	case Tranco:
		o.Column, o.RankColumn = "2", "1"
	case Majestic:
		o.Column, o.RankColumn = "Domain", "GlobalRank"
	default: // as the options say
	}
	t := &table{records: records{in: in}, o: o, list: l, seed: unknown, rank: unknown}
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

// record scans the next record, but does not take it. On the way to it, it takes what is
// no record and refuses what is a broken one.
func (t *table) record(scan func() error) error {
	for {
		line, size, err := t.in.peek(0)
		switch {
		case errors.Is(err, errLineLong):
			err = skipLong(t.in, t.list)
		case err == nil && isNothing(line):
			t.in.take(size, 1)
		case err == nil:
			err = scan()
			switch {
			case errors.Is(err, errQuote), errors.Is(err, errQuoteOpen):
				err = t.skipBroken(err)
			case err == nil && len(bytes.TrimSpace(t.text)) > 0:
				return nil
			case err == nil:
				t.take() // a spreadsheet writes an empty row as separators
			}
		}
		if err != nil {
			return err
		}
	}
}

// take moves on past the record that was scanned.
func (t *table) take() { t.in.take(t.size, t.lines) }

// skipBroken refuses a record of which the end is not known: the next may begin in its
// second line.
func (t *table) skipBroken(reason error) error {
	number, head := t.in.number, t.in.head()
	_, size, err := t.in.peek(0)
	if err != nil {
		return err
	}
	t.in.take(size, 1)
	if !t.list.wanted() {
		return nil
	}
	return t.list.refuse(number, head, reason)
}

// detect scans the first record, and finds out what separates its fields.
func (t *table) detect() error {
	// By how rare they are in URLs. Where nothing separates, it is what no URL has.
	separators := "\t,;"
	if t.o.Source != CSV {
		separators = ","
	}
	best, bestScore, broken := byte(0), -1, error(nil)
	for _, separator := range []byte(separators) {
		t.separator = separator
		if err := t.scan(); err != nil {
			broken = err
			continue
		}
		if score := t.score(); score > bestScore {
			best, bestScore = separator, score
		}
	}
	if bestScore < 0 {
		return broken
	}
	t.separator = best
	return t.scan()
}

// score is how much sense the first record makes as it was split.
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
	if t.seed == unknown {
		var err error
		if t.seed, err = t.guess(); err != nil {
			return err
		}
	}
	number := t.in.number
	if !t.list.wanted() {
		t.take()
		return nil
	}
	if t.seed >= len(t.ends) {
		head := t.in.head()
		t.take()
		return t.list.refuse(number, head, fmt.Errorf("there is no column %d", t.seed+1))
	}
	if len(bytes.TrimSpace(t.field(t.seed))) == 0 {
		head := t.in.head()
		t.take()
		return t.list.refuse(number, head, errNoSeed)
	}
	t.take()
	return t.list.add(t.field(t.seed), Entry{Line: number, Rank: t.rankOf()})
}

// rankOf is the rank of the record that was scanned, 0 if it has none.
func (t *table) rankOf() int64 {
	if t.rank == unknown || t.rank >= len(t.ends) {
		return 0
	}
	rank, err := strconv.ParseInt(string(bytes.TrimSpace(t.field(t.rank))), 10, 64)
	if err != nil {
		return 0
	}
	return max(rank, 0)
}
