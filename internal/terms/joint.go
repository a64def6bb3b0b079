package terms

import "strings"

// Placed is a term with its place in a text, from 1 on.
type Placed struct {
	Term string
	At   int
}

// jointBytesMax is how long a name of several terms may be, in bytes.
const jointBytesMax = 64

// joint is a name of several terms in the making, such as "os.path.join", "C++" or "utf-8".
type joint struct {
	begun   bool
	from    int // in the text
	at      int // the place of its first term
	joined  bool
	spoiled bool // it has letters that are not ASCII
}

// join takes a character that ends a term, or the end of the text. A name goes on if a letter
// or a digit follows; + and # may also end it.
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
		c.side = append(c.side, Placed{Term: Name(text[j.from:i]), At: j.at})
	}
	*j = joint{}
}

// Name is the term of a name: in lower case, and in one word if only hyphens and apostrophes
// join its parts, so that "e-mail" is "email".
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

// Split cuts what somebody has typed: its terms with their places, and the names that are
// several of them together.
func Split(text string, limit int) (terms, names []Placed) {
	c := Cutter{Whole: true}
	out, n := c.Cut(nil, text, limit)
	if n == 0 {
		return nil, nil
	}
	for i, term := range strings.Split(string(out), " ") {
		terms = append(terms, Placed{Term: term, At: c.places[i]})
	}
	return terms, c.side
}
