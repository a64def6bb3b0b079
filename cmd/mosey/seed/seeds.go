package seed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/urls"
)

// seedArguments is what the seed arguments came to.
type seedArguments struct {
	urls []string
	// bad lines of files are skipped; the first few are shown.
	bad BadLines
}

const (
	badLinesShown = 5
	// seedLineMax is longer than any URL that could be canonicalised.
	seedLineMax = 64 << 10
)

// readSeeds reads the seed arguments: a URL or host, a file of them, or - for
// standard input. A bad URL as an argument is a usage error; bad lines of a file are
// skipped and counted, unless nothing is left.
func readSeeds(args []string, stdin io.Reader) (seedArguments, error) {
	var list seedArguments
	for _, arg := range args {
		switch {
		case arg == "-":
			if err := list.read("standard input", stdin); err != nil {
				return list, err
			}
		case isFile(arg):
			if err := list.readFile(arg); err != nil {
				return list, err
			}
		default:
			u, err := parseArgument(arg)
			if err != nil {
				return list, err
			}
			list.add(arg, u)
		}
	}
	switch {
	case len(args) == 0 || len(list.urls) > 0:
		return list, nil
	case list.bad.All > 0:
		return list, wiring.Usagef("no seed is a URL: %s: want one URL a line, such as https://example.org/",
			strings.Join(list.bad.Shown, "; "))
	default:
		return list, wiring.Usagef("no seeds in %s: want one URL a line, such as https://example.org/", strings.Join(args, ", "))
	}
}

// isFile reports whether an argument names a file, readable or not.
func isFile(arg string) bool {
	if strings.Contains(arg, "://") {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// parseArgument reads an argument that is not a file. A name without a scheme is a host
// if it is below a known suffix. Otherwise it may be a mistyped file name, and no request
// is made for it.
func parseArgument(arg string) (urls.URL, error) {
	u, err := urls.ParseSeed(arg)
	switch {
	case strings.Contains(arg, "://"), errors.Is(err, urls.ErrUserinfo):
		if err != nil {
			err = command.NotAbsolute(err)
		}
		return u, err
	case err != nil:
		return u, wiring.Usagef("seed %q: no such file, and not a URL such as https://example.org/", arg)
	case !u.IsRegistered():
		return u, wiring.Usagef("seed %q: no such file; to crawl a site give its URL, such as %s", arg, u)
	}
	return u, nil
}

// add keeps whether a seed has a scheme: of one without, the site decides.
func (l *seedArguments) add(raw string, u urls.URL) {
	text := u.String()
	if urls.IsBare(raw) {
		text = strings.TrimPrefix(text, "https://")
	}
	l.urls = append(l.urls, text)
}

func (l *seedArguments) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return wiring.Usagef("seed file: %w", err)
	}
	defer f.Close()
	return l.read(name, f)
}

func (l *seedArguments) read(name string, r io.Reader) error {
	return EachLine(name, r, "one URL a line", func(n int, line string) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			return
		}
		u, err := urls.ParseSeed(line)
		if err != nil {
			l.bad.Add(fmt.Sprintf("%s:%d: %v", name, n, err))
			return
		}
		l.add(line, u)
	})
}

// EachLine calls do for each line of a file, with its number from 1.
func EachLine(name string, r io.Reader, want string, do func(n int, line string)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, seedLineMax)
	n := 1
	for ; lines.Scan(); n++ {
		do(n, lines.Text())
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return wiring.Usagef("%s:%d: the line is longer than %d bytes: want %s", name, n, seedLineMax, want)
	case err != nil:
		return wiring.Usagef("%s: %w", name, err)
	}
	return nil
}

// BadLines are lines that could not be read: the first few, and how many in all.
type BadLines struct {
	Shown []string
	All   int
}

// Add counts a line.
func (b *BadLines) Add(line string) {
	if b.All++; b.All <= badLinesShown {
		b.Shown = append(b.Shown, line)
	}
}
