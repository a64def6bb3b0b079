package terms

import "strings"

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
// continues the name. A + or # may also end it.
func (c *Cutter) join(text string, i int) {
	j := &c.joint
	if i < len(text) {
		switch b := text[i]; b {
		case '_', '.', '-', '\'', '&':
			if i+1 < len(text) && plainAlphanumeric(text[i+1]) {
				j.joined = true
				return
			}
		case '+', '#':
			if j.begun && i > j.from {
				j.joined = true
				return
			}
		}
	}
	if j.begun && j.joined && i-j.from <= jointBytesMax && c.at >= j.at {
		c.extraTerms = append(c.extraTerms, PlacedTerm{Term: Name(text[j.from:i]), At: j.at})
	}
	*j = joint{}
}

// Name returns the term of a name in lower case. It removes hyphens and apostrophes if they are the
// only separators, so that "e-mail" becomes "email".
func Name(text string) string {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	if strings.ContainsAny(text, "_.&+#") {
		return text
	}
	return hyphens.Replace(text)
}

var hyphens = strings.NewReplacer("-", "", "'", "")

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
