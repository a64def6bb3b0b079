package index

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// tier is how many segments of about the same size are merged into one.
	tier = 8
	// tierPages is how many pages the segments of the lowest tier have at most.
	tierPages = 250
)

// ToMerge are the segments that are to be merged next, if they have at most so many pages
// together: the smallest tier that is full. Each tier's are up to eight times as large as
// those of the one below. So a page is written again once for each tier, and a million
// pages are in some thirty segments.
func ToMerge(segments []crawl.Segment, most int) []crawl.Segment {
	tiers := map[int][]crawl.Segment{}
	for _, s := range segments {
		n := tierOf(s.Pages)
		tiers[n] = append(tiers[n], s)
	}
	for n := range 16 {
		if len(tiers[n]) < tier {
			continue
		}
		// those of a busy crawl come faster than they are merged: take them all
		some := tiers[n]
		pages := 0
		for i, s := range some {
			if pages += s.Pages; pages > most {
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

func tierOf(pages int) int {
	if pages <= tierPages {
		return 0
	}
	return int(math.Ceil(math.Log(float64(pages)/tierPages) / math.Log(tier)))
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
