package terms

import (
	"cmp"
	"encoding/binary"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// Limits on the terms of a page. Package index reserves as many positions.
const (
	titleTerms       = 120
	headingTerms     = 900
	descriptionTerms = 200
	addressTerms     = 100
	textTerms        = 50_000
)

// Page holds the indexed texts of a page.
type Page struct {
	// Language is a tag of BCP 47; empty means undetermined. Second is the second language of a
	// page in two languages; empty means no second language.
	Language, Second string

	Title, Description, Text string
	// Headings are the headings in Text, one per line.
	Headings string
	// URL is the URL of the page.
	URL string

	// NoArchive omits the outline and the order of terms.
	NoArchive bool
}

var indexers = sync.Pool{New: func() any { return new(indexer) }}

// Index returns the terms of a page for the index.
func Index(p Page) *crawl.Index {
	x, _ := indexers.Get().(*indexer) // the pool holds nothing else
	defer indexers.Put(x)
	publicOrder, hiddenOrder := whole, coarse
	index := &crawl.Index{Configs: []string{Config(p.Language)}, SecondLanguage: p.Second}
	if second := Config(p.Second); p.Second != "" && second != index.Configs[0] {
		index.Configs = append(index.Configs, second)
	}
	if p.NoArchive {
		publicOrder, hiddenOrder = unordered, unordered
	} else if p.Headings != "" {
		index.Outline = strings.Split(p.Headings, "\n")
	}
	index.Title, index.TitleWords = x.zone(p.Title, titleTerms, publicOrder)
	index.Headings, _ = x.zone(p.Headings, headingTerms, publicOrder)
	index.Description, _ = x.zone(p.Description, descriptionTerms, publicOrder)
	index.Address, _ = x.zone(address(p.URL), addressTerms, publicOrder)
	index.Text, index.Words = x.zone(p.Text, textTerms, hiddenOrder)
	return index
}

// address returns the words of a URL: its host without www, its path, and its query.
func address(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	if plain, err := url.PathUnescape(rest); err == nil && utf8.ValidString(plain) {
		rest = plain
	}
	return strings.TrimPrefix(rest, "www.")
}

// order is the precision with which a zone records the order of its terms.
type order int

const (
	// whole keeps all buckets, for texts that are stored anyway.
	whole order = iota
	// coarse merges buckets so that each has at least minAlternatives terms on average.
	coarse
	// unordered keeps no bucket, so no phrase matches.
	unordered
)

// minAlternatives is the least average of terms per bucket, and so of possible predecessors.
const minAlternatives = 8

// indexer makes zones of documents. Its memory is reused for the next document.
type indexer struct {
	cutter    Cutter
	cut       []byte
	positions map[string]int // the index of a term in found
	found     []foundTerm
	out       []byte
}

type foundTerm struct {
	term  string
	order uint64 // its first bytes
	count int
	// before has the buckets of the preceding terms. any is set if it may follow any term.
	before crawl.Buckets
	any    bool
	// last is the position of the last occurrence.
	last int
}

// zone returns the terms of a text, as in a crawl.Index, and the number of its words.
func (x *indexer) zone(text string, limit int, precision order) (zone string, words int) {
	x.cut, words = x.cutter.Cut(x.cut[:0], text, limit)
	slices.SortStableFunc(x.cutter.extraTerms, func(a, b PlacedTerm) int { return cmp.Compare(a.At, b.At) })
	x.read(string(x.cut), x.cutter.extraTerms)
	slices.SortFunc(x.found, func(a, b foundTerm) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.term, b.term))
	})
	width := crawl.BucketBits
	for precision == coarse && width > 1 && len(x.found) < minAlternatives<<width {
		width--
	}
	x.out = x.out[:0]
	for i, f := range x.found {
		if i > 0 {
			x.out = append(x.out, ' ')
		}
		x.out = strconv.AppendInt(append(append(x.out, f.term...), ':'), int64(f.count), 10)
		switch {
		case precision == unordered:
			x.out = append(x.out, ':')
		case !f.any:
			x.out = appendBuckets(append(x.out, ':'), f.before, width)
		}
	}
	clear(x.found) // they keep the text in memory
	return string(x.out), words
}

func appendBuckets(dst []byte, before crawl.Buckets, width int) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, 'a'+byte(width-1)) //nolint:gosec // up to 8
	narrow := before.Narrow(width)
	for b := range narrow.All {
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

func (x *indexer) read(terms string, extraTerms []PlacedTerm) {
	if x.positions == nil {
		x.positions = map[string]int{}
	}
	x.found = x.found[:0]
	at, previous := 0, ""
	for term := range strings.SplitSeq(terms, " ") {
		if term == "" {
			continue
		}
		at++
		for len(extraTerms) > 0 && extraTerms[0].At < at {
			x.note(extraTerms[0].Term, extraTerms[0].At, anyBucket)
			extraTerms = extraTerms[1:]
		}
		x.note(term, at, preceding(previous, term))
		previous = term
	}
	for _, s := range extraTerms {
		x.note(s.Term, s.At, anyBucket)
	}
	clear(x.positions)
}

// Values in place of the preceding term's bucket.
const (
	anyBucket = -1
	noBucket  = -2
)

// preceding returns the bucket of the term before another. A pair of characters may follow
// anything, because it shares a character with the previous pair, which the bucket would disclose.
func preceding(previous, term string) int {
	switch {
	case previous == "":
		return noBucket
	case overlap(previous, term):
		return anyBucket
	}
	return int(crawl.BucketOf(previous))
}

// overlap reports whether a pair of characters begins with the last character of another.
func overlap(previous, term string) bool {
	if first, _ := utf8.DecodeRuneInString(term); !isPaired(first) {
		return false
	}
	for i := range term {
		if i > 0 && strings.HasSuffix(previous, term[:i]) {
			return true
		}
	}
	return strings.HasSuffix(previous, term)
}

// BucketBefore returns the bucket of the text's term before a query term, assuming that the terms
// of the query are adjacent in the text. -1 means any term.
func BucketBefore(previous, term PlacedTerm) int {
	switch term.At - previous.At {
	case 1:
		return preceding(previous.Term, term.Term)
	case 2: // Cutter.Whole omits the last character of a run
		last := strings.LastIndexFunc(previous.Term, func(r rune) bool { return !unicode.In(r, unicode.Mn, unicode.Mc) })
		return int(crawl.BucketOf(previous.Term[max(0, last):]))
	}
	return anyBucket
}

func (x *indexer) note(term string, at, before int) {
	i, known := x.positions[term]
	if !known {
		i = len(x.found)
		x.positions[term] = i
		var first [8]byte
		copy(first[:], term)
		x.found = append(x.found, foundTerm{term: term, order: binary.BigEndian.Uint64(first[:])})
	}
	f := &x.found[i]
	switch before {
	case noBucket:
	case anyBucket:
		f.any = true
	default:
		f.before.Add(uint8(before), crawl.BucketBits) //nolint:gosec // a bucket
	}
	if f.last < at { // otherwise a name that is also one term
		f.count, f.last = f.count+1, at
	}
}

const (
	// maxAnchors caps the distinct texts of links to a page, and anchorTerms all their terms.
	maxAnchors  = 20
	anchorTerms = 300
)

// Anchors returns the terms of the texts of links to a page, as in a crawl.Index. texts maps each
// text to the number of domains that use it. The most common texts count.
func Anchors(texts map[string]int) string {
	list := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(texts[b], texts[a]), cmp.Compare(a, b))
	})
	x, _ := indexers.Get().(*indexer) // the pool holds nothing else
	defer indexers.Put(x)
	zone, _ := x.zone(strings.Join(list[:min(len(list), maxAnchors)], "\n"), anchorTerms, whole)
	return zone
}

// Simple is the configuration for languages without a configuration in Postgres.
const Simple = "simple"

// configs maps languages to the text search configurations of Postgres 15.
var configs = map[string]string{
	"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
	"eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
	"id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
	"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
	"tr": "turkish", "yi": "yiddish",
}

// Config returns the text search configuration for a language tag of BCP 47, which may be empty.
func Config(tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	return cmp.Or(configs[base], Simple)
}
