package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// scanBatch is the number of chunks that are read at once.
const scanBatch = 64

// Scanner reads whole segments.
type Scanner interface {
	// Scan returns up to limit chunks of a kind after a key, in the order of their keys.
	Scan(ctx context.Context, segment int64, kind crawl.ChunkKind, after []byte, limit int) ([]crawl.Chunk, error)
	// Chunks returns the data of chunks.
	Chunks(ctx context.Context, refs []crawl.ChunkRef) ([][]byte, error)
	// Scores returns the worth of pages, and their versions in the index, or 0 for unknown pages.
	Scores(ctx context.Context, pages []int64) (versions []int64, worths []float32, err error)
}

// Merge makes one segment of several. It removes deleted pages and pages with newer versions.
func Merge(ctx context.Context, src Scanner, segments []crawl.Segment, out func(crawl.Chunk) error) (crawl.Segment, error) {
	m := merger{ctx: ctx, src: src, segments: segments, tables: tables{w: writer{out: out}}}
	if err := m.number(); err != nil {
		return crawl.Segment{}, err
	}
	if err := m.merge(); err != nil {
		return crawl.Segment{}, err
	}
	return m.tables.finish()
}

type merger struct {
	ctx      context.Context //nolint:containedctx // of one merge
	src      Scanner
	segments []crawl.Segment
	tables   tables
	// numbers maps each segment's pages to their numbers in the new segment.
	numbers [][]uint32
	// run has the postings of a term in one segment, and list its postings in the new segment.
	run, list list
	key       []byte
}

// removedPage is the number of a removed page.
const removedPage = math.MaxUint32

// number selects the pages and decides their order.
func (m *merger) number() error {
	type row struct {
		meta

		segment, at int
		words       int
	}
	total := 0
	for _, seg := range m.segments {
		total += seg.Pages
	}
	rows := make([]row, 0, total)
	for n, seg := range m.segments {
		var columns [4][]byte
		for i, kind := range []crawl.ChunkKind{kindIDs, kindNorms, kindLanguages, kindDates} {
			var err error
			if columns[i], err = m.column(seg.ID, kind); err != nil {
				return err
			}
		}
		ids, norms, langs, dates := columns[0], columns[1], columns[2], columns[3]
		if len(ids) != seg.Pages*idBytes || len(norms) != seg.Pages*normBytes || len(langs) != seg.Pages || len(dates) != seg.Pages*dateBytes {
			return ErrDamaged
		}
		worths, live, err := m.worths(ids)
		if err != nil {
			return err
		}
		m.numbers = append(m.numbers, make([]uint32, seg.Pages))
		for i := range seg.Pages {
			m.numbers[n][i] = removedPage
			if !live[i] {
				continue
			}
			language := ""
			if k := int(langs[i]); k < len(seg.Languages) {
				language = seg.Languages[k]
			}
			id := ids[i*idBytes:]
			rows = append(rows, row{meta{
				page: int64(binary.BigEndian.Uint64(id)), version: int64(binary.BigEndian.Uint64(id[8:])), //nolint:gosec // as they were coded
				domain: binary.BigEndian.Uint32(id[16:]), words: norms[i*normBytes], title: norms[i*normBytes+2], worth: worthCode(worths[i]),
				language: language, date: binary.BigEndian.Uint16(dates[i*dateBytes:]),
			}, n, i, int(lengths[norms[i*normBytes]])})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.page, b.page)) })
	for n, r := range rows {
		m.numbers[r.segment][r.at] = uint32(n)
		m.tables.add(r.meta, r.words)
	}
	return nil
}

func (m *merger) column(segment int64, kind crawl.ChunkKind) ([]byte, error) {
	var all []byte
	var after []byte
	for {
		chunks, err := m.src.Scan(m.ctx, segment, kind, after, scanBatch)
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			all, after = append(all, c.Data...), c.Key
		}
		if len(chunks) < scanBatch {
			return all, nil
		}
	}
}

// worths returns the worth of the pages in a column of ids, and whether their versions are current.
func (m *merger) worths(ids []byte) (worths []float32, live []bool, err error) {
	for some := range slices.Chunk(ids, 5_000*idBytes) {
		pages, versions := IDs(some)
		now, worth, err := m.src.Scores(m.ctx, pages)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range versions {
			live = append(live, now[i] == v)
		}
		worths = append(worths, worth...)
	}
	return worths, live, nil
}

// IDs decodes a chunk of ids.
func IDs(data []byte) (pages, versions []int64) {
	for ; len(data) >= idBytes; data = data[idBytes:] {
		pages = append(pages, int64(binary.BigEndian.Uint64(data)))           //nolint:gosec // as it was coded
		versions = append(versions, int64(binary.BigEndian.Uint64(data[8:]))) //nolint:gosec // likewise
	}
	return pages, versions
}

// merge writes the terms of all segments in the order of their keys.
func (m *merger) merge() error {
	var cursors []*cursor
	for n, seg := range m.segments {
		c := &cursor{m: m, n: n, segment: seg.ID}
		if more, err := c.next(); err != nil {
			return err
		} else if more {
			cursors = append(cursors, c)
		}
	}
	for len(cursors) > 0 {
		m.key = append(m.key[:0], cursors[0].key...)
		for _, c := range cursors[1:] {
			if bytes.Compare(c.key, m.key) < 0 {
				m.key = append(m.key[:0], c.key...)
			}
		}
		m.list.reset()
		kept := cursors[:0]
		for _, c := range cursors {
			if bytes.Equal(c.key, m.key) {
				if err := m.take(c); err != nil {
					return err
				}
				if more, err := c.next(); err != nil {
					return err
				} else if !more {
					continue
				}
			}
			kept = append(kept, c)
		}
		cursors = kept
		if err := m.write(); err != nil {
			return err
		}
	}
	return nil
}

// take adds a segment's postings of a term.
func (m *merger) take(c *cursor) error {
	e, err := readEntry(c.coded)
	if err != nil {
		return err
	}
	m.run.reset()
	if e.blocks == nil {
		err = m.run.decode(e.inline, e.pages, isWord(c.key))
	} else {
		err = m.decodeBlocks(c, e)
	}
	numbers := m.numbers[c.n]
	for _, it := range m.run.items {
		if int(it.page) >= len(numbers) {
			return ErrDamaged
		}
		if it.page = numbers[it.page]; it.page != removedPage {
			m.list.items = append(m.list.items, it)
		}
	}
	return err
}

// decodeBlocks reads the blocks of a term into m.run.
func (m *merger) decodeBlocks(c *cursor, e entry) error {
	i := 0
	for refs := range slices.Chunk(blockRefs(c.segment, c.key, e.blocksFor(nil)), scanBatch) {
		blocks, err := m.src.Chunks(m.ctx, refs)
		if err != nil {
			return err
		}
		for _, block := range blocks {
			if err := m.run.decode(block, e.blocks[i].count, isWord(c.key)); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// write writes the postings of the term m.key.
func (m *merger) write() error {
	if len(m.list.items) == 0 {
		return nil
	}
	slices.SortFunc(m.list.items, func(a, b item) int { return cmp.Compare(a.page, b.page) })
	return m.tables.w.term(m.key, &m.list)
}

type cursor struct {
	dictionary

	m       *merger
	n       int
	segment int64
	chunks  []crawl.Chunk
	after   []byte
}

// next moves to the next term. It returns false at the end.
func (c *cursor) next() (bool, error) {
	for len(c.b) == 0 {
		if len(c.chunks) == 0 {
			var err error
			if c.chunks, err = c.m.src.Scan(c.m.ctx, c.segment, KindTerms, c.after, scanBatch); err != nil || len(c.chunks) == 0 {
				return false, err
			}
			c.after = c.chunks[len(c.chunks)-1].Key
		}
		c.dictionary = dictionary{bytesReader: bytesReader{b: c.chunks[0].Data}, key: c.key[:0]}
		c.chunks = c.chunks[1:]
	}
	if !c.dictionary.next() {
		return false, ErrDamaged
	}
	return true, nil
}
