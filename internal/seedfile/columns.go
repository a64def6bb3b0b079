package seedfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
)

// unknown is a column that is not known, or that a table does not have.
const unknown = -1

// What a header calls its columns, as fold writes it. The first that there is counts.
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
	if t.isHeader(first) || likeliest(first) == unlikely && t.o.Source != Tranco {
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

// isHeader reports whether a first record is a header: if it has the names asked for,
// or usual names and not a seed too.
func (t *table) isHeader(first []string) bool {
	for _, asked := range []string{t.o.Column, t.o.RankColumn} {
		if asked != "" && !isColumnNumber(asked) && indexOf(first, asked) != unknown {
			return true
		}
	}
	named := slices.ContainsFunc(seedNames, func(name string) bool { return indexOf(first, name) != unknown })
	return named && likeliest(first) < certain
}

// find returns the column that an option asks for, or else the first of the usual names
// that there is.
func (t *table) find(option, asked string, usual, first []string) (int, error) {
	if asked == "" {
		for _, name := range usual {
			if i := indexOf(t.header, name); i != unknown {
				return i, nil
			}
		}
		return unknown, nil
	}
	if isColumnNumber(asked) {
		if n, err := strconv.Atoi(asked); err == nil && 1 <= n && n <= len(first) {
			return n - 1, nil
		}
	} else if i := indexOf(t.header, asked); i != unknown {
		return i, nil
	}
	if t.o.Source != CSV {
		return unknown, fmt.Errorf("%w: source %s: the list has no column %s; want another source, or a list with %s",
			crawl.ErrInvalid, t.o.Source, asked, columnsOf[t.o.Source])
	}
	return unknown, fmt.Errorf("%w: %s %q: the list has no such column; want %s",
		crawl.ErrInvalid, option, shown(asked), t.choices(len(first)))
}

var columnsOf = map[seeds.Source]string{
	Tranco:   "a rank, a comma and a domain a line",
	Majestic: "a header that names GlobalRank and Domain",
}

// guess returns the column of the record that was scanned that holds a seed.
func (t *table) guess() (int, error) {
	fields := t.strings()
	if len(fields) == 1 {
		return 0, nil
	}
	likely := likeliest(fields)
	if likely == unlikely {
		return unknown, fmt.Errorf("%w: column: nothing in line %d of the list is a URL or a host; want the column to be named: %s",
			crawl.ErrInvalid, t.in.number, t.choices(len(fields)))
	}
	return slices.IndexFunc(fields, func(field string) bool { return likelihood(field) == likely }), nil
}

// choices names the columns.
func (t *table) choices(count int) string {
	const shownMax, nameBytesMax = 20, 40
	number := "1, its only column"
	if count > 1 {
		number = fmt.Sprintf("a number from 1 to %d", count)
	}
	if t.header == nil {
		return number + ", since it has no header"
	}
	var b strings.Builder
	for i, name := range t.header {
		if i == shownMax {
			fmt.Fprintf(&b, "%d others, ", len(t.header)-i)
			break
		}
		fmt.Fprintf(&b, "%q, ", crawl.CleanText(name, nameBytesMax))
	}
	return b.String() + "or " + number
}

// indexOf returns the first field that is a name.
func indexOf(fields []string, name string) int {
	name = fold(name)
	return slices.IndexFunc(fields, func(field string) bool { return fold(field) == name })
}

// fold writes alike what headers write in many ways, such as Root Domain and root_domain.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

func isColumnNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// How likely it is that a field is meant as a seed.
const (
	unlikely = iota
	// possible has the form of a host, as node.js has.
	possible
	// certain has a scheme, or a host below a known suffix.
	certain
)

func likelihood(field string) int {
	switch u, err := parse(field); {
	case err != nil:
		return unlikely
	case !urls.IsBare(field), u.IsRegistered():
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
