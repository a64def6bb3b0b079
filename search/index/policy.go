package index

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// smallTiers is how many of the tiers are merged between two writes of the index: at most
	// 16,000 pages at once. Larger ones are merged beside the writes, up to largeMost pages.
	smallTiers = 2
	largeMost  = 2_000_000
	// tier is how many segments of about the same size are merged into one.
	tier = 8
	// tierPages is how many pages the segments of the lowest tier have at most.
	tierPages = 250
)

// ToMerge are the segments that are to be merged next, of small or of large ones: those of
// the smallest tier that is full. Each tier's are up to eight times as large as
// those of the one below. So a page is written again once for each tier, and a million
// pages are in some thirty segments.
func ToMerge(segments []crawl.Segment, large bool) []crawl.Segment {
	tiers := map[int][]crawl.Segment{}
	for _, s := range segments {
		n := tierOf(s.Pages)
		tiers[n] = append(tiers[n], s)
	}
	for n := range 16 {
		if large != (n >= smallTiers) || len(tiers[n]) < tier {
			continue
		}
		// those of a busy crawl come faster than they are merged: take them all
		some := tiers[n]
		pages := 0
		for i, s := range some {
			if pages += s.Pages; pages > largeMost {
				some = some[:i]
				break
			}
		}
		if len(some) >= 2 {
			return slices.Clone(some)
		}
	}
	return nil
}

// sizes are the least and the most pages of small or of large segments. Who merges the ones
// never touches the others.
func sizes(large bool) (least, most int) {
	const smallMost = tierPages * tier // the last of smallTiers
	if large {
		return smallMost + 1, math.MaxInt32
	}
	return 0, smallMost
}

func tierOf(pages int) int {
	if pages <= tierPages {
		return 0
	}
	return int(math.Ceil(math.Log(float64(pages)/tierPages) / math.Log(tier)))
}

// deadMost is the share of pages with newer versions elsewhere, or that are gone, above which
// a segment is written anew.
const deadMost = 0.3

const (
	// checkEvery is how often the dead pages of a segment are counted, and oldAge the age at
	// which one is enough.
	checkEvery = 6 * time.Hour
	oldAge     = 7 * 24 * time.Hour
)

// ToCheck is the segment, of small or of large ones, whose dead pages are to be counted next.
func ToCheck(segments []crawl.Segment, large bool) (next crawl.Segment, due bool) {
	least, most := sizes(large)
	for _, s := range segments {
		if s.Pages >= least && s.Pages <= most && s.Unchecked >= max(checkEvery, next.Unchecked) {
			next, due = s, true
		}
	}
	return next, due
}

// Outlived reports whether a segment is to be written anew without its dead pages: if it has
// many, and if it is old, so that nothing of what a publisher has forbidden stays for long.
func Outlived(segment crawl.Segment, dead int) bool {
	return dead > 0 && (segment.Age >= oldAge || float64(dead) > deadMost*float64(segment.Pages))
}

// Dead counts the pages of a segment that have newer versions elsewhere or are gone.
func Dead(ctx context.Context, src Scanner, segment crawl.Segment) (dead int, err error) {
	pages, err := DeadPages(ctx, src, segment)
	return len(pages), err
}

// DeadPages are those pages.
func DeadPages(ctx context.Context, src Scanner, segment crawl.Segment) (dead []int64, err error) {
	m := merger{ctx: ctx, src: src}
	ids, err := m.column(segment.ID, kindIDs)
	if err != nil {
		return nil, err
	}
	_, live, err := m.worths(ids)
	if err != nil {
		return nil, err
	}
	pages, _ := IDs(ids)
	for i, is := range live {
		if !is {
			dead = append(dead, pages[i])
		}
	}
	return dead, nil
}

// Reweigh writes the chunks of a segment that have what its pages are worth, where that has
// changed.
func Reweigh(ctx context.Context, src Scanner, segment crawl.Segment, store func(crawl.Chunk) error) error {
	m := merger{ctx: ctx, src: src}
	ids, err := m.column(segment.ID, kindIDs)
	if err != nil {
		return err
	}
	worths, _, err := m.worths(ids)
	if err != nil {
		return err
	}
	for n := 0; n*normPages < len(worths); n++ {
		chunks, err := src.Chunks(ctx, []crawl.ChunkRef{{Segment: segment.ID, Kind: kindNorms, Key: columnKey(n)}})
		if err != nil {
			return err
		}
		if chunks[0] == nil {
			return nil // merged away meanwhile
		}
		now := slices.Clone(chunks[0])
		for i := range len(now) / normBytes {
			now[i*normBytes+1] = worthCode(worths[n*normPages+i])
		}
		if bytes.Equal(now, chunks[0]) {
			continue
		}
		if err := store(crawl.Chunk{Kind: kindNorms, Key: []byte(columnKey(n)), Data: now}); err != nil {
			return err
		}
	}
	return nil
}
