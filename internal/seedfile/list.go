package seedfile

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

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

// refuse tells of an entry that is wanted and not a seed.
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
