package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/terms"
)

const (
	// TextBytesMax caps Query.Text, in bytes.
	TextBytesMax = 1000
	// termsMax is how many terms of a query count.
	termsMax = 32
)

// chunk is a word or a phrase of a query, in the terms of the index.
type chunk struct {
	// text is as it was typed.
	text   string
	quoted bool
	terms  []terms.Placed
	// names are several terms that are one name together: "os.path.join", "C++".
	names []terms.Placed
}

// word reports whether the chunk is a single word, of which other forms count too.
func (c chunk) word() bool { return !c.quoted && len(c.terms) == 1 }

// name is the one that is the whole chunk; empty if there is none.
func (c chunk) name() string {
	for _, n := range c.names {
		if n.At == c.terms[0].At && n.Term == terms.Name(strings.Trim(c.text, ".,;:!?()[]'’")) {
			return n.Term
		}
	}
	return ""
}

// parts are those of a name that has dots, as "asyncio.Queue.task_done" has: pages that are
// about it may have them apart.
func (c chunk) parts() []chunk {
	if len(c.names) == 0 {
		return nil
	}
	var parts []chunk
	for text := range strings.FieldsFuncSeq(c.text, func(r rune) bool { return strings.ContainsRune(".:/()", r) }) {
		if strings.IndexFunc(text, unicode.IsLetter) < 0 {
			return nil // a number, or a version
		}
		part := chunk{text: text}
		if part.terms, part.names = terms.Split(text, termsMax); len(part.terms) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// parsed is what a query asks for.
type parsed struct {
	// all are what a page must have: one of each list.
	all [][]chunk
	// not is what it must not have.
	not []chunk
}

// parse reads what somebody has typed. "or" joins the word before it and the one after
// it; both belong closer together than words with nothing between them.
func parse(text string) (parsed, error) {
	var p parsed
	if len(text) > TextBytesMax {
		return p, fmt.Errorf("%w: a query of %d bytes: at most %d are read", crawl.ErrInvalid, len(text), TextBytesMax)
	}
	left := termsMax
	joined := false // by "or" to what came before
	for piece := range pieces(text) {
		if !piece.not && !piece.quoted && strings.EqualFold(piece.text, "or") {
			joined = len(p.all) > 0
			continue
		}
		c := chunk{text: piece.text, quoted: piece.quoted}
		c.terms, c.names = terms.Split(strings.ReplaceAll(piece.text, "’", "'"), left)
		if len(c.terms) == 0 {
			continue
		}
		left -= len(c.terms)
		switch {
		case piece.not:
			p.not = append(p.not, c)
			continue // an "or" before it joins nothing
		case joined:
			last := len(p.all) - 1
			p.all[last] = append(p.all[last], c)
		default:
			p.all = append(p.all, []chunk{c})
		}
		joined = false
	}
	if len(p.all) == 0 {
		return p, fmt.Errorf("%w: the query %q has no word to look for: give at least one without a minus", crawl.ErrInvalid, text)
	}
	return p, nil
}

// piece is what stands between blanks, or in quotes.
type piece struct {
	text        string
	not, quoted bool
}

// pieces are those of a query, in their order.
func pieces(text string) func(yield func(piece) bool) {
	return func(yield func(piece) bool) {
		for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
			var p piece
			if after, minus := strings.CutPrefix(rest, "-"); minus && after != "" {
				rest, p.not = after, true
			}
			if after, quoted := cutQuote(rest); quoted {
				p.quoted = true
				if i := strings.IndexFunc(after, isQuote); i >= 0 {
					_, size := utf8.DecodeRuneInString(after[i:])
					p.text, rest = after[:i], after[i+size:]
				} else {
					p.text, rest = after, ""
				}
			} else {
				end := strings.IndexFunc(rest, func(r rune) bool { return isQuote(r) || unicode.IsSpace(r) })
				if end < 0 {
					end = len(rest)
				}
				p.text, rest = rest[:end], rest[end:]
			}
			if !yield(p) {
				return
			}
		}
	}
}

// isQuote reports whether a character begins or ends a phrase, as keyboards of different
// countries have it.
func isQuote(r rune) bool { return slices.Contains([]rune{'"', '“', '”', '„', '«', '»'}, r) }

func cutQuote(s string) (after string, quoted bool) {
	r, size := utf8.DecodeRuneInString(s)
	if isQuote(r) {
		return s[size:], true
	}
	return s, false
}
