package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Build makes a segment of pages, which it sorts, and hands out its chunks. stems returns the stems
// of a term by a text search configuration; no stems of a stop word.
func Build(
	pages []crawl.IndexedPage, stems func(config, term string) []string, out func(crawl.Chunk) error,
) (crawl.Segment, error) {
	slices.SortStableFunc(pages, func(x, y crawl.IndexedPage) int {
		return cmp.Or(cmp.Compare(worthCode(y.Worth), worthCode(x.Worth)), cmp.Compare(x.Page, y.Page))
	})
	t := tables{w: writer{out: out}}
	r, _ := readers.Get().(*reader) // there is nothing else
	defer r.release()
	r.stems = stems
	for n := range pages {
		p := &pages[n]
		r.page = uint32(n)
		words, title := r.read(p)
		t.add(meta{
			page: p.Page, version: p.Version, domain: DomainHash(p.Domain), language: p.Language, date: dayOf(p.Date),
			words: lengthCode(words), worth: worthCode(p.Worth), title: byte(min(255, title)), //nolint:gosec // bounded
		}, words)
		r.domains.add(p.Domain, piece{page: r.page})
		r.languages.add(base(p.Language), piece{page: r.page})
		if p.Second != "" && base(p.Second) != base(p.Language) {
			r.languages.add(base(p.Second), piece{page: r.page})
		}
	}
	for _, of := range []struct {
		prefix string
		terms  *pieces
	}{
		{domainPrefix, &r.domains}, {languagePrefix, &r.languages}, {stemPrefix, &r.stemmed}, {wordPrefix, &r.words},
	} {
		if err := r.write(&t.w, of.prefix, of.terms); err != nil {
			return crawl.Segment{}, err
		}
	}
	return t.finish()
}

// base returns the first subtag of a tag.
func base(tag string) string {
	b, _, _ := strings.Cut(tag, "-")
	return b
}

// piece is a term in one text of a page.
type piece struct {
	term, page uint32
	// begin and end are the bounds of its places in reader.places
	begin, end uint32
	field      feature
	count      uint8
}

// pieces are terms of one kind, in the order of their pages and, of a page, of its texts.
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
		n = uint32(len(p.terms)) //nolint:gosec // a segment in the making is small
		p.numbers[term] = n
		p.terms = append(p.terms, term)
	}
	x.term = n
	p.list = append(p.list, x)
}

// reader reads pages into pieces.
type reader struct {
	page  uint32
	stems func(config, term string) []string

	words, stemmed, domains, languages pieces

	places []uint32
	sorted []piece
	list   list
	// block has the coded positions of a term, and coded those of a page
	block, coded []byte
	key          []byte
}

// readers keep their memory for the next segment.
var readers = sync.Pool{New: func() any { return new(reader) }}

// release clears the reader for another use.
func (r *reader) release() {
	for _, p := range []*pieces{&r.words, &r.stemmed, &r.domains, &r.languages} {
		clear(p.numbers)
		clear(p.terms) // they hold on to texts
		p.terms, p.list = p.terms[:0], p.list[:0]
	}
	r.places, r.stems = r.places[:0], nil
	readers.Put(r)
}

// read reads a page and returns the number of terms in its main text and in its title.
func (r *reader) read(p *crawl.IndexedPage) (words, title int) {
	title = r.text(p, p.Title, titleBase, inTitle, false)
	r.text(p, p.Description, descriptionBase, inDescription, false)
	r.text(p, p.Address, addressBase, inAddress, false)
	r.text(p, p.Headings, headingsBase, inHeading, false)
	r.text(p, p.Anchors, anchorsBase, inAnchor, false)
	return r.text(p, p.Text, textBase, 0, true), title
}

// text reads one text of a page, and returns its last place.
func (r *reader) text(p *crawl.IndexedPage, text string, at int, field feature, counted bool) (most int) {
	for item := range strings.SplitSeq(text, " ") {
		term, places, _ := strings.Cut(item, ":")
		if term == "" || strings.IndexByte(term, 0) >= 0 {
			continue
		}
		x := piece{page: r.page, field: field, begin: uint32(len(r.places))} //nolint:gosec // a segment in the making is small
		times, nowhere := strings.CutPrefix(places, "*")
		for place := range strings.SplitSeq(places, ",") {
			i, err := strconv.Atoi(place)
			if err != nil || i < 1 {
				continue
			}
			most = max(most, i)
			r.places = append(r.places, uint32(at+i)) //nolint:gosec // bounded by what is kept of a page
		}
		x.end = uint32(len(r.places)) //nolint:gosec // likewise
		count := int(x.end - x.begin)
		if nowhere { // of a page that is not to be archived
			count, _ = strconv.Atoi(times)
			most += max(count, 0)
		}
		if counted {
			x.count = uint8(min(countMost, max(count, 0)))
		}
		r.words.add(term, x)
		x.begin, x.end = 0, 0
		before := ""
		for _, config := range p.Configs {
			for _, stem := range r.stems(config, term) {
				if stem != before { // both languages may have the same
					before = stem
					r.stemmed.add(stem, x)
				}
			}
		}
	}
	return most
}

// write writes terms of one kind in the order of their keys.
func (r *reader) write(w *writer, prefix string, p *pieces) error {
	ends := make([]int, len(p.terms)) // of each term's pieces, once they are sorted by term
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

// fill makes a list of the pieces of one term.
func (r *reader) fill(list []piece, positions bool) {
	l := &r.list
	l.reset()
	r.block = r.block[:0]
	for i := 0; i < len(list); {
		page := list[i].page
		var f feature
		count, n, before := 0, 0, uint32(0)
		r.coded = r.coded[:0]
		for ; i < len(list) && list[i].page == page; i++ {
			x := list[i]
			f |= x.field
			count += int(x.count)
			for _, place := range r.places[x.begin:x.end] {
				if n < placesMost && place > before {
					r.coded = binary.AppendUvarint(r.coded, uint64(place-before))
					n, before = n+1, place
				}
			}
		}
		l.pages, l.feats = append(l.pages, page), append(l.feats, f)
		l.counts = append(l.counts, uint8(min(countMost, count)))
		if positions {
			begin := len(r.block)
			r.block = append(binary.AppendUvarint(r.block, uint64(n)), r.coded...)
			l.spans = append(l.spans, span{begin: uint32(begin), end: uint32(len(r.block))}) //nolint:gosec // a segment in the making is small
		}
	}
	l.blocks = append(l.blocks, r.block)
}

// meta has the columns of a page.
type meta struct {
	page, version int64
	domain        uint32
	words, title  byte
	worth         byte
	language      string
	date          uint16
}

// tables makes the columns of a segment.
type tables struct {
	w         writer
	pages     int
	total     int64
	numbers   map[string]byte
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

// number returns the number of a language; 255 stands for all languages after the first 255.
func (t *tables) number(tag string) byte {
	if n, known := t.numbers[tag]; known {
		return n
	}
	if len(t.languages) == 255 {
		return 255
	}
	if t.numbers == nil {
		t.numbers = map[string]byte{}
	}
	n := byte(len(t.languages)) //nolint:gosec // below 255
	t.numbers[tag] = n
	t.languages = append(t.languages, tag)
	return n
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

// DomainHash is a hash of a domain's name (FNV-1a).
func DomainHash(domain string) uint32 {
	h := uint32(2166136261)
	for i := range len(domain) {
		h = (h ^ uint32(domain[i])) * 16777619
	}
	return h
}

// dayOf returns the day of a date, counted from 1 on 1980-01-01; 0 for no date.
func dayOf(t time.Time) uint16 {
	days := t.Sub(epoch) / (24 * time.Hour)
	return uint16(min(65_535, max(0, days)))
}

var epoch = time.Date(1979, 12, 31, 0, 0, 0, 0, time.UTC)
