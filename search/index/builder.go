package index

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Builder makes a segment of pages.
type Builder struct {
	// Stems are the stems of a term by a text search configuration; none of a stop word.
	Stems func(config, term string) []string

	pages []crawl.IndexedPage
}

// Add adds a page.
func (b *Builder) Add(p crawl.IndexedPage) { b.pages = append(b.pages, p) }

// Build makes the segment and hands out its chunks. It can be called once.
func (b *Builder) Build(out func(crawl.Chunk) error) (crawl.Segment, error) {
	slices.SortStableFunc(b.pages, func(x, y crawl.IndexedPage) int {
		return byWorth(x.Worth, y.Worth, x.Page, y.Page)
	})
	t := tables{w: writer{out: out}}
	lists := map[string]*growing{}
	for n := range b.pages {
		p := &b.pages[n]
		r := reader{lists: lists, page: uint32(n), stems: b.Stems} //nolint:gosec // some hundred
		words, title := r.read(p)
		t.add(meta{
			page: p.Page, version: p.Version, domain: domainHash(p.Domain), words: lengthCode(words), title: titleCode(title), worth: worthCode(p.Worth),
			language: p.Language, date: dayOf(p.Date),
		}, words)
		r.mark(Domain(p.Domain))
		for _, tag := range languagesOf(p) {
			r.mark(Language(base(tag)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		if err := t.w.term(key, &lists[key].list); err != nil {
			return crawl.Segment{}, err
		}
	}
	return t.finish()
}

func languagesOf(p *crawl.IndexedPage) []string {
	if p.Second != "" && p.Second != p.Language {
		return []string{p.Language, p.Second}
	}
	return []string{p.Language}
}

// base is the first subtag of a tag.
func base(tag string) string {
	b, _, _ := strings.Cut(tag, "-")
	return b
}

// growing is a list in the making.
type growing struct {
	list

	seen     bool
	coded    []byte // the places of the last page
	n, place int    // how many they are, and the last of them
}

// reader reads a page into lists.
type reader struct {
	lists   map[string]*growing
	page    uint32
	stems   func(config, term string) []string
	configs []string
	touched []*growing
}

// read reads a page and returns how many terms its main text and its title have.
func (r *reader) read(p *crawl.IndexedPage) (words, title int) {
	r.configs = p.Configs
	title = r.text(p.Title, titleBase, inTitle, false)
	r.text(p.Description, descriptionBase, inDescription, false)
	r.text(p.Address, addressBase, inAddress, false)
	r.text(p.Headings, headingsBase, inHeading, false)
	r.text(p.Anchors, anchorsBase, inAnchor, false)
	words = r.text(p.Text, textBase, 0, true)
	for _, g := range r.touched {
		g.list.places = binary.AppendUvarint(g.list.places, uint64(g.n)) //nolint:gosec // at most placesMost
		g.list.places = append(g.list.places, g.coded...)
		g.list.ends = append(g.list.ends, uint32(len(g.list.places))) //nolint:gosec // a segment in the making is small
	}
	return words, title
}

// text reads one text of a page, and returns its last place.
func (r *reader) text(text string, at int, field feature, counted bool) (most int) {
	for item := range strings.SplitSeq(text, " ") {
		term, places, _ := strings.Cut(item, ":")
		if term == "" || strings.IndexByte(term, 0) >= 0 {
			continue
		}
		g := r.placed(Word(term))
		n := 0
		for place := range strings.SplitSeq(places, ",") {
			i, err := strconv.Atoi(place)
			if err != nil || i < 1 {
				continue
			}
			n++
			most = max(most, i)
			g.put(at + i)
		}
		if !counted {
			n = 0
		}
		g.count(field, n)
		r.stem(term, field, n)
	}
	return most
}

// stem adds the stems of a term.
func (r *reader) stem(term string, field feature, n int) {
	var before string
	for _, config := range r.configs {
		for _, stem := range r.stems(config, term) {
			if stem == before {
				continue // both have the same
			}
			before = stem
			r.of(Stem(stem)).count(field, n)
		}
	}
}

// mark adds a key without counts.
func (r *reader) mark(key string) { r.of(key).count(0, 0) }

// of is the list of a key, at this page.
func (r *reader) of(key string) *growing {
	g := r.lists[key]
	if g == nil {
		g = new(growing)
		r.lists[key] = g
	}
	if last := len(g.pages) - 1; last < 0 || g.pages[last] != r.page {
		g.pages, g.feats, g.counts = append(g.pages, r.page), append(g.feats, 0), append(g.counts, 0)
		g.seen = false
	}
	return g
}

// placed is of for a key that has positions.
func (r *reader) placed(key string) *growing {
	g := r.of(key)
	if !g.seen {
		g.seen, g.coded, g.n, g.place = true, g.coded[:0], 0, 0
		r.touched = append(r.touched, g)
	}
	return g
}

// put adds a place. Places come in their order.
func (g *growing) put(place int) {
	if g.n == placesMost || place <= g.place {
		return
	}
	g.coded = binary.AppendUvarint(g.coded, uint64(place-g.place))
	g.n, g.place = g.n+1, place
}

// count adds where a term is on the last page, and how often in its main text.
func (g *growing) count(field feature, n int) {
	last := len(g.pages) - 1
	g.feats[last] |= field
	g.counts[last] = uint8(min(countMost, int(g.counts[last])+n)) //nolint:gosec // bounded
}

// meta is what the columns have of a page.
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

// number is that of a language; 255 stands for all beyond as many.
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
		kind         crawl.ChunkKind
		data         []byte
		bytes, pages int
	}{
		{kindNorms, t.norms, normBytes, normPages},
		{kindIDs, t.ids, idBytes, idPages},
		{kindLanguages, t.langs, langBytes, langPages},
		{kindDates, t.dates, dateBytes, datePages},
	} {
		if err == nil {
			err = t.w.column(c.kind, c.data, c.bytes, c.pages)
		}
	}
	return crawl.Segment{Pages: t.pages, Words: t.total, Bytes: t.w.bytes, Languages: t.languages}, err
}

// byWorth orders pages: those that are worth most first.
func byWorth(a, b float32, pageA, pageB int64) int {
	switch x, y := worthCode(a), worthCode(b); {
	case x != y:
		return int(y) - int(x)
	case pageA < pageB:
		return -1
	case pageA > pageB:
		return 1
	}
	return 0
}

// domainHash tells domains apart, as a rule (FNV-1a).
func domainHash(domain string) uint32 {
	h := uint32(2166136261)
	for i := range len(domain) {
		h = (h ^ uint32(domain[i])) * 16777619
	}
	return h
}

// dayOf is the day of a date, counted from the first of 1980; 0 if there is none.
func dayOf(t time.Time) uint16 {
	days := t.Sub(epoch) / (24 * time.Hour)
	return uint16(min(65_535, max(0, days))) //nolint:gosec // bounded
}

var epoch = time.Date(1979, 12, 31, 0, 0, 0, 0, time.UTC)
