package search

import (
	"fmt"
	"iter"
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
	// termsMax caps the terms of a query. Further terms are ignored.
	termsMax = 32
)

// chunk is a word or a phrase of a query, in the terms of the index.
type chunk struct {
	text   string // as typed
	quoted bool
	terms  []terms.PlacedTerm
	// names are the names that consist of several terms: "os.path.join", "C++".
	names []terms.PlacedTerm
}

// word reports whether the chunk is a single word, which may have other forms.
func (c chunk) word() bool { return !c.quoted && len(c.terms) == 1 }

// name returns the name that spans the whole chunk, or an empty string.
func (c chunk) name() string {
	for _, n := range c.names {
		if n.At == c.terms[0].At && n.Term == terms.Name(strings.Trim(c.text, ".,;:!?()[]'’")) {
			return n.Term
		}
	}
	return ""
}

// parts returns the parts of a name with dots, such as "asyncio.Queue.task_done".
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

type parsedQuery struct {
	all [][]chunk // a page must have one chunk of each list
	not []chunk   // a page must have none of these chunks
}

// parse parses a query. "or" joins the words before and after it, and binds closer than a space.
func parse(text string) (parsedQuery, error) {
	var p parsedQuery
	if len(text) > TextBytesMax {
		return p, fmt.Errorf("%w: query of %d bytes: want at most %d", crawl.ErrInvalid, len(text), TextBytesMax)
	}
	left := termsMax
	joined := false // by "or" to the preceding chunk
	list := slices.Collect(pieces(text))
	for i, piece := range list {
		isOr := !piece.not && !piece.quoted && strings.EqualFold(piece.text, "or")
		if isOr && len(p.all) > 0 && i+1 < len(list) { // else it is a word
			joined = true
			continue
		}
		c := chunk{text: piece.text, quoted: piece.quoted}
		c.terms, c.names = terms.Split(piece.text, left)
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
		return p, fmt.Errorf("%w: query %q: type at least one word without a minus; signs are not indexed", crawl.ErrInvalid, text)
	}
	return p, nil
}

// piece is a word between blanks, or a phrase in quotes.
type piece struct {
	text        string
	not, quoted bool
}

// pieces returns the pieces of a query in their order.
func pieces(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
			var p piece
			if after, minus := strings.CutPrefix(rest, "-"); minus && after != "" {
				rest, p.not = after, true
			}
			quote, size := utf8.DecodeRuneInString(rest)
			end := func(r rune) bool { return isQuote(r) || unicode.IsSpace(r) }
			if p.quoted = isQuote(quote); p.quoted {
				rest, end = rest[size:], isQuote
			}
			i := strings.IndexFunc(rest, end)
			if i < 0 {
				i = len(rest)
			}
			if p.text, rest = rest[:i], rest[i:]; p.quoted && rest != "" {
				_, size := utf8.DecodeRuneInString(rest)
				rest = rest[size:]
			}
			if !yield(p) {
				return
			}
		}
	}
}

// isQuote reports whether a character is a quote on any country's keyboard.
func isQuote(r rune) bool { return strings.ContainsRune(`"“”„«»`, r) }
