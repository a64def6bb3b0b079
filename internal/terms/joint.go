package terms

import (
	"strings"
	"unicode/utf8"
)

// PlacedTerm is a term with its position in a text, starting at 1.
type PlacedTerm struct {
	Term string
	At   int
}

// jointBytesMax caps a name of several terms, in bytes.
const jointBytesMax = 64

// joint is an incomplete name of several terms, such as "os.path.join", "C++" or "utf-8".
type joint struct {
	begun       bool
	from        int // in the text
	at          int // the position of its first term
	joined      bool
	hasNonASCII bool // it has non-ASCII letters
}

// join handles a character that ends a term, or the end of the text. A following letter or digit
// continues the name. A + or # may also end it, and "C++" is a name within "C++17".
func (c *Cutter) join(text string, i int) {
	j := &c.joint
	if i < len(text) {
		separator, after := text[i], i+1
		if plain := typographic(text[i:]); plain != 0 {
			separator, after = plain, i+typographicBytes
		}
		continues := after < len(text) && plainAlphanumeric(text[after])
		switch separator {
		case '_', '.', '-', '\'', '&':
			if continues {
				c.addSuffixed(text, i)
				j.joined = true
				return
			}
		case ',':
			if j.begun && isGrouped(text[j.from:], ',') {
				j.joined = true
				return
			}
		case '+', '#':
			if j.begun && i > j.from {
				j.joined = true
				if continues {
					c.addSuffixed(text, after)
				}
				return
			}
		}
	}
	if j.begun && j.joined {
		c.addName(text, i)
	}
	*j = joint{}
}

// addSuffixed adds the name that ends in ++ or # at end, if there is one.
func (c *Cutter) addSuffixed(text string, end int) {
	const sharpBytesMax = 3 // "C#", but not "page.html#section"
	j := c.joint
	if j.begun && (strings.HasSuffix(text[j.from:end], "++") || end-j.from <= sharpBytesMax && text[end-1] == '#') {
		c.addName(text, end)
	}
}

func (c *Cutter) addName(text string, end int) {
	if j := c.joint; end-j.from <= jointBytesMax && c.at >= j.at {
		c.extraTerms = append(c.extraTerms, PlacedTerm{Term: Name(text[j.from:end]), At: j.at})
	}
}

// Name returns the term of a name in lower case. It removes hyphens and apostrophes if they are the
// only separators, so that "e-mail" becomes "email", and the separators of thousands in a number.
func Name(text string) string {
	text = strings.Map(asciiPunctuation, strings.ToLower(text))
	for _, separator := range []byte(",.'") {
		if isGrouped(text, separator) {
			return strings.ReplaceAll(text, string(separator), "")
		}
	}
	if strings.ContainsAny(text, "_.&+#") {
		return text
	}
	return hyphens.Replace(text)
}

var hyphens = strings.NewReplacer("-", "", "'", "")

// asciiPunctuation returns the ASCII character for a typographic hyphen or apostrophe, else r.
func asciiPunctuation(r rune) rune {
	switch r {
	case '\u2010', '\u2011':
		return '-'
	case '\u2019':
		return '\''
	}
	return r
}

// typographicBytes is the length of these characters, and typographicFirst their first byte.
const typographicBytes, typographicFirst = 3, 0xe2

// typographic returns the ASCII character for a hyphen or an apostrophe that begins a text, or 0.
func typographic(text string) byte {
	if text == "" || text[0] != typographicFirst {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(text)
	if ascii := asciiPunctuation(r); ascii != r {
		return byte(ascii) //nolint:gosec // ASCII
	}
	return 0
}

// isGrouped reports whether a text begins with a number whose thousands are separated. No letter or
// digit follows the last group of three. A single point is a decimal point.
func isGrouped(text string, separator byte) bool {
	const groupDigits = 3
	digits := func() (n int) {
		for n < len(text) && '0' <= text[n] && text[n] <= '9' {
			n++
		}
		text = text[n:]
		return n
	}
	if first := digits(); first == 0 || first > groupDigits || text == "" || text[0] != separator {
		return false
	}
	groups := 0
	for ; text != "" && text[0] == separator; groups++ {
		if text = text[1:]; digits() != groupDigits {
			return false
		}
	}
	return (groups > 1 || separator != '.') && (text == "" || !plainAlphanumeric(text[0]))
}

func plainAlphanumeric(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// Split cuts a query into terms with their positions, and returns its names of several terms.
func Split(text string, limit int) (terms, names []PlacedTerm) {
	c := Cutter{Whole: true}
	out, n := c.Cut(nil, text, limit)
	if n == 0 {
		return nil, nil
	}
	for i, term := range strings.Split(string(out), " ") {
		terms = append(terms, PlacedTerm{Term: term, At: c.positions[i]})
	}
	return terms, c.extraTerms
}
