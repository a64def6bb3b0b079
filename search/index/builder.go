package index

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Build makes a segment of pages and calls out with its chunks. It sorts pages. stems returns the
// stems of a term by a text search configuration, or an empty list for a stop word.
func Build(
	pages []crawl.IndexedPage, stems func(config, term string) []string, out func(crawl.Chunk) error,
) (crawl.Segment, error) {
	slices.SortStableFunc(pages, func(x, y crawl.IndexedPage) int {
		return cmp.Or(cmp.Compare(worthCode(y.Score), worthCode(x.Score)), cmp.Compare(x.Page, y.Page))
	})
	t := tables{w: writer{out: out}}
	r, _ := readers.Get().(*reader) // the pool holds nothing else
	defer r.release()
	r.stems = stems
	for n := range pages {
		p := &pages[n]
		r.page = uint32(n)
		r.read(p)
		t.add(meta{
			page: p.Page, version: p.Version, domain: crawl.Hash32(p.Domain), language: p.Language, date: dayOf(p.Date),
			words: byte(min(255, math.Round(8*math.Log2(float64(max(p.Words, 0)+1))))),
			worth: worthCode(p.Score), title: byte(min(255, p.TitleWords)), //nolint:gosec // bounded
		}, p.Words)
		r.domains.add(p.Domain, piece{page: r.page})
		r.languages.add(Base(p.Language), piece{page: r.page})
		if p.SecondLanguage != "" && Base(p.SecondLanguage) != Base(p.Language) {
			r.languages.add(Base(p.SecondLanguage), piece{page: r.page})
		}
	}
	all := map[string]*pieces{domainPrefix: &r.domains, languagePrefix: &r.languages, wordPrefix: &r.words}
	for config, stems := range r.stemmed {
		all[Stem(config, "")] = stems
	}
	for _, prefix := range slices.Sorted(maps.Keys(all)) {
		if err := r.write(&t.w, prefix, all[prefix]); err != nil {
			return crawl.Segment{}, err
		}
	}
	return t.finish()
}

// Base returns the first subtag of a tag.
func Base(tag string) string {
	b, _, _ := strings.Cut(tag, "-")
	return b
}

// piece is a term in one text of a page.
type piece struct {
	term, page uint32
	// before has the buckets of the preceding terms, as in a crawl.Index. any means any term.
	before string
	any    bool
	field  feature
	count  uint8
}

// pieces holds the terms of one kind, ordered by page and then by text.
type pieces struct {
	numbers map[string]uint32
	terms   []string
	list    []piece
}

func (p *pieces) add(term string, x piece) {
	n, known := p.numbers[term]
	if !known {
		if p.numbers == nil {
			p.numbers = map[string]uint32{}
		}
		n = uint32(len(p.terms)) //nolint:gosec // a new segment is small
		p.numbers[term] = n
		p.terms = append(p.terms, term)
	}
	x.term = n
	p.list = append(p.list, x)
}

type reader struct {
	page  uint32
	stems func(config, term string) []string

	words, domains, languages pieces
	stemmed                   map[string]*pieces // by text search configuration

	sorted []piece
	list   list
	key    []byte
}

// readers are reused for later segments.
var readers = sync.Pool{New: func() any { return &reader{stemmed: map[string]*pieces{}} }}

// release returns the reader to the pool.
func (r *reader) release() {
	for _, p := range append(slices.Collect(maps.Values(r.stemmed)), &r.words, &r.domains, &r.languages) {
		clear(p.numbers)
		clear(p.terms) // they keep texts in memory
		p.terms, p.list = p.terms[:0], p.list[:0]
	}
	r.stems = nil
	readers.Put(r)
}

// read reads the texts of a page.
func (r *reader) read(p *crawl.IndexedPage) {
	r.text(p, p.Title, inTitle)
	r.text(p, p.Description, inDescription)
	r.text(p, p.Address, inAddress)
	r.text(p, p.Headings, inHeading)
	r.text(p, p.Anchors, inAnchor)
	r.text(p, p.Text, 0)
}

// text reads one text of a page. A field of 0 means the main text.
func (r *reader) text(p *crawl.IndexedPage, text string, field feature) {
	for item := range strings.SplitSeq(text, " ") {
		term, rest, _ := strings.Cut(item, ":")
		if term == "" || strings.IndexByte(term, 0) >= 0 {
			continue
		}
		count, buckets, hasBuckets := strings.Cut(rest, ":")
		x := piece{page: r.page, field: field, before: buckets, any: !hasBuckets}
		if field == 0 {
			n, _ := strconv.Atoi(count)
			x.count = uint8(min(maxCount, max(n, 0)))
		}
		r.words.add(term, x)
		for _, config := range p.Configs {
			for _, stem := range r.stems(config, term) {
				r.stemsOf(config).add(stem, x)
			}
		}
	}
}

func (r *reader) stemsOf(config string) *pieces {
	if r.stemmed[config] == nil {
		r.stemmed[config] = new(pieces)
	}
	return r.stemmed[config]
}

// write writes the terms of one kind in the order of their keys.
func (r *reader) write(w *writer, prefix string, p *pieces) error {
	ends := make([]int, len(p.terms)) // of each term's pieces after sorting by term
	for _, x := range p.list {
		ends[x.term]++
	}
	total := 0
	for i, n := range ends {
		ends[i], total = total, total+n
	}
	r.sorted = slices.Grow(r.sorted[:0], total)[:total]
	for _, x := range p.list {
		r.sorted[ends[x.term]] = x
		ends[x.term]++
	}
	order := make([]uint32, len(p.terms))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(p.terms[a], p.terms[b]) })
	for _, n := range order {
		begin := 0
		if n > 0 {
			begin = ends[n-1]
		}
		r.fill(r.sorted[begin:ends[n]], prefix == wordPrefix)
		r.key = append(append(r.key[:0], prefix...), p.terms[n]...)
		if err := w.term(r.key, &r.list); err != nil {
			return err
		}
	}
	return nil
}

// fill makes a list of the pieces of one term. It includes their buckets if words is set.
func (r *reader) fill(pieces []piece, words bool) {
	r.list.reset()
	for i := 0; i < len(pieces); {
		all := item{page: pieces[i].page}
		count, before := 0, preceding{}
		for ; i < len(pieces) && pieces[i].page == all.page; i++ {
			all.feat |= pieces[i].field
			count += int(pieces[i].count)
			if words {
				before.any = before.any || pieces[i].any
				before.add(pieces[i].before)
			}
		}
		all.count = uint8(min(maxCount, count))
		if words {
			begin := len(r.list.coded)
			r.list.coded = before.code(r.list.coded)
			all.before = r.list.coded[begin:]
		}
		r.list.items = append(r.list.items, all)
	}
}

// meta holds the columns of a page.
type meta struct {
	page, version int64
	domain        uint32
	words         byte // code of the length of the main text, with eight steps for each doubling
	title         byte
	worth         byte
	language      string
	date          uint16
}

// tables builds the columns of a segment.
type tables struct {
	w         writer
	pages     int
	total     int64
	languages []string

	norms, ids, langs, dates []byte
}

func (t *tables) add(m meta, words int) {
	t.pages++
	t.total += int64(words)
	t.norms = append(t.norms, m.words, m.worth, m.title)
	t.ids = binary.BigEndian.AppendUint64(t.ids, uint64(m.page))    //nolint:gosec // an id
	t.ids = binary.BigEndian.AppendUint64(t.ids, uint64(m.version)) //nolint:gosec // a number of a sequence
	t.ids = binary.BigEndian.AppendUint32(t.ids, m.domain)
	t.langs = append(t.langs, t.number(m.language))
	t.dates = binary.BigEndian.AppendUint16(t.dates, m.date)
}

// number returns the number of a language. All languages after the first 255 share 255.
func (t *tables) number(tag string) byte {
	n := slices.Index(t.languages, tag)
	if n < 0 {
		if n = len(t.languages); n < 255 {
			t.languages = append(t.languages, tag)
		}
	}
	return byte(n) //nolint:gosec // at most 255
}

func (t *tables) finish() (crawl.Segment, error) {
	err := t.w.flush()
	for _, c := range []struct {
		kind crawl.ChunkKind
		data []byte
		size int
	}{
		{kindNorms, t.norms, normBytes * normPages},
		{kindIDs, t.ids, idBytes * idPages},
		{kindLanguages, t.langs, langBytes * langPages},
		{kindDates, t.dates, dateBytes * datePages},
	} {
		if err == nil {
			err = t.w.column(c.kind, c.data, c.size)
		}
	}
	return crawl.Segment{Pages: t.pages, Words: t.total, Bytes: t.w.bytes, Languages: t.languages}, err
}

// dayOf returns the days since 1979-12-31, so that 1980-01-01 is 1, or 0 for the zero time.
func dayOf(t time.Time) uint16 {
	days := t.Sub(epoch) / (24 * time.Hour)
	return uint16(min(65_535, max(0, days)))
}

var epoch = time.Date(1979, 12, 31, 0, 0, 0, 0, time.UTC)
