package robots

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	encoding "golang.org/x/text/encoding/unicode"
)

const (
	// MaxBytes limits the read part of a robots.txt, in bytes. RFC 9309 §2.5 requires at least this
	// limit.
	MaxBytes = 500 << 10

	// MaxLineBytes limits the read part of one line, in bytes. The rest of the line is dropped, as in
	// Google's parser.
	MaxLineBytes = 16 << 10
)

// File is a parsed robots.txt. It is immutable and safe for concurrent use.
type File struct {
	records   []record
	sitemaps  []string
	malformed string
}

type record struct {
	field field
	value string
	line  int
}

type field uint8

const (
	fieldUnknown field = iota
	fieldUserAgent
	fieldAllow
	fieldDisallow
	fieldCrawlDelay
	fieldSitemap
	fieldContentSignal
	fieldContentUsage
	fieldRequestRate
	fieldVisitTime
	fieldLicense
)

// Parse reads the body of a robots.txt. It never fails: unknown lines are skipped (RFC 9309 §2.2),
// and [File.Malformed] reports whether the body was a robots.txt at all. Parse reads at most
// [MaxBytes], and drops a line that crosses that border, since half a rule is another rule. So pass
// at least one octet more of a longer body. The body is not retained.
func Parse(body []byte) *File {
	if len(body) > MaxBytes {
		next := body[MaxBytes]
		body = body[:MaxBytes]
		if end := bytes.LastIndexAny(body, "\r\n"); end >= 0 && next != '\n' && next != '\r' {
			body = body[:end+1]
		}
	}
	text := decode(body)
	file := read(text, MaxLineBytes)
	file.malformed = malformed(text)
	return file
}

// Malformed reports whether the body was binary data or an HTML or XML document instead of a
// robots.txt, with a short reason. The rules of such a file are still readable.
func (f *File) Malformed() (bool, string) {
	return f.malformed != "", f.malformed
}

// On returns the file as a host serves it. A Disallow line with a URL of the host, such as
// "http://a.example/private/", forbids the path of the URL, which RFC 9309 does not provide for.
func (f *File) On(host string) *File {
	on := *f
	on.records = slices.Clone(f.records)
	for i, r := range on.records {
		if r.field == fieldDisallow {
			on.records[i].value = pathOn(host, r.value)
		}
	}
	return &on
}

// pathOn returns the path with the query of a URL on a host, with or without "www.", or any other
// value unchanged.
func pathOn(host, value string) string {
	scheme, rest, found := strings.Cut(value, "://")
	if !found || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return value
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	name, _, _ := strings.Cut(strings.ToLower(rest[:end]), ":")
	if strings.TrimPrefix(name, "www.") != strings.TrimPrefix(host, "www.") {
		return value
	}
	return cmp.Or(rest[end:], "/")
}

// Sitemaps returns the values of the Sitemap lines in their order, as written: neither resolved nor
// checked. They belong to the file, not to a group.
func (f *File) Sitemaps() []string {
	return slices.Clone(f.sitemaps)
}

// read splits text into records, taking at most maxLine bytes of each line.
func read(text string, maxLine int) *File {
	file := &File{}
	for number, line := range lines(text) {
		name, value := splitLine(line[:min(len(line), maxLine)])
		switch name {
		case fieldUnknown:
		case fieldSitemap:
			if value != "" {
				file.sitemaps = append(file.sitemaps, strings.Clone(value))
			}
		case fieldUserAgent:
			file.records = append(file.records, record{name, productToken(value), number})
		default:
			file.records = append(file.records, record{name, value, number})
		}
	}
	return file
}

// lines yields the lines of text, numbered from 1, without their ends.
func lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for number := 1; text != ""; number++ {
			end := strings.IndexAny(text, "\r\n")
			if end < 0 {
				end = len(text)
			}
			if !yield(number, text[:end]) || end == len(text) {
				return
			}
			if strings.HasPrefix(text[end:], "\r\n") {
				end++
			}
			text = text[end+1:]
		}
	}
}

// blanks are the bytes ignored in front of a file.
const blanks = " \t\v\f"

// trim removes white space of any kind and control characters from the ends of a name or a value,
// including a no-break space in Latin-1.
func trim(s string) string {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if !isBlank(r, s[0]) {
			break
		}
		s = s[size:]
	}
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		if !isBlank(r, s[len(s)-1]) {
			break
		}
		s = s[:len(s)-size]
	}
	return s
}

// isBlank reports whether a character, or an octet that is not UTF-8, is blank.
func isBlank(r rune, octet byte) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError && octet == 0xa0
}

// splitLine splits a line into field and value, without surrounding blanks and
// without the comment.
func splitLine(line string) (field, string) {
	line, _, _ = strings.Cut(line, "#")
	// "Disallow; /a" is a mistake that still forbids. An Allow with it must not open paths that other
	// rules forbid.
	if name, value, found := strings.Cut(line, ";"); found {
		if field := fieldOf(trim(name)); field != fieldUnknown && field != fieldAllow {
			return field, trim(strings.TrimPrefix(trim(value), ":"))
		}
	}
	name, value, found := strings.Cut(line, ":")
	if !found {
		// "Disallow /a": understood, as Google does, if it is exactly two words.
		words := strings.Fields(line)
		if len(words) != 2 {
			return fieldUnknown, ""
		}
		name, value = words[0], words[1]
	}
	return fieldOf(trim(name)), trim(value)
}

// fields lists the names of each field: the written name, then in lower case the misspellings that
// Google's parser accepts.
var fields = []struct {
	field field
	name  string
	also  []string
}{
	{fieldUserAgent, "User-agent", []string{"useragent", "user agent"}},
	{fieldAllow, "Allow", nil},
	{fieldDisallow, "Disallow", []string{"dissallow", "dissalow", "disalow", "diasllow", "disallaw"}},
	{fieldCrawlDelay, "Crawl-delay", []string{"crawldelay", "crawl delay"}},
	{fieldRequestRate, "Request-rate", nil},
	{fieldVisitTime, "Visit-time", nil},
	{fieldSitemap, "Sitemap", []string{"site-map"}},
	{fieldContentSignal, "Content-Signal", nil},
	{fieldContentUsage, "Content-Usage", nil},
	{fieldLicense, "License", nil},
}

var byName = func() map[string]field {
	names := make(map[string]field)
	for _, f := range fields {
		names[strings.ToLower(f.name)] = f.field
		for _, name := range f.also {
			names[name] = f.field
		}
	}
	return names
}()

// Fields returns the names of all fields that are read, as they are written.
func Fields() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

func fieldOf(name string) field {
	if len(name) > len("content-signal") {
		return fieldUnknown
	}
	return byName[strings.ToLower(name)]
}

// productToken returns the product token a user-agent line begins with: "*", or a run of letters,
// "-" and "_" (RFC 9309 §2.2.1). A version or any other text behind it is dropped. "" names no
// crawler.
func productToken(value string) string {
	// "*bot" is an invented pattern, "*;" is sloppy.
	if strings.HasPrefix(value, "*") && (len(value) == 1 || !isTokenByte(value[1])) {
		return "*"
	}
	end := 0
	for end < len(value) && isTokenByte(value[end]) {
		end++
	}
	return value[:end]
}

func isTokenByte(b byte) bool {
	return isLetter(b) || b == '-' || b == '_'
}

func isLetter(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z'
}

// decode returns body as text without its byte order mark. UTF-16 is decoded if a mark announces
// it. Any other body is taken as UTF-8, and invalid octets stay, because rules match octet by
// octet.
func decode(body []byte) string {
	text := string(body)
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		// Half a unit at the end would change the last rule.
		units := text[:len(text)&^1]
		decoded, _ := encoding.UTF16(encoding.LittleEndian, encoding.UseBOM).NewDecoder().String(units) // never fails
		return decoded
	}
	// Marks cut to their first one or two octets occur, and Google skips them.
	for _, octet := range []string{"\xef", "\xbb", "\xbf"} {
		rest, found := strings.CutPrefix(text, octet)
		if !found {
			break
		}
		text = rest
	}
	return text
}

// controlShare is the inverse of the share of control octets beyond which a body is binary. One in
// ten octets of compressed data is a control, almost none of text.
const controlShare = 32

// malformed returns the reason why text is no robots.txt, or "" if it may be one.
func malformed(text string) string {
	// no line of a robots.txt begins with a tag, a comment or a declaration
	begin := strings.TrimLeft(text, blanks+"\r\n")
	if len(begin) > 1 && begin[0] == '<' && (begin[1] == '!' || begin[1] == '?' || isLetter(begin[1])) {
		return "an HTML or XML document"
	}
	controls := 0
	for i := range len(text) {
		if isControl(text[i]) && !strings.ContainsRune(blanks+"\r\n", rune(text[i])) {
			controls++
		}
	}
	if controls*controlShare > len(text) {
		return "binary data"
	}
	return ""
}

func isControl(b byte) bool {
	return b < ' ' || b == 0x7f
}
