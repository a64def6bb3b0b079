package index

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// smallTiers is the number of tiers that are merged between two writes of the index. Larger
	// segments are merged concurrently with the writes.
	smallTiers = 2
	// mergeSegments, mergePages and mergeBytes limit a merge, and thus its memory.
	mergeSegments = 64
	mergePages    = 1_000_000
	mergeBytes    = 2 << 30
	// segmentsPerTier is the number of segments of similar size that are merged into one.
	segmentsPerTier = 8
	// maxTierPages caps the pages of a segment in the lowest tier.
	maxTierPages = 250
	// maxDeadShare is the share of dead pages above which a segment is rewritten. A page is dead if it
	// was deleted or has a newer version elsewhere.
	maxDeadShare = 0.3
	// checkInterval is the interval between counts of a segment's dead pages. oldAge is the age at
	// which a segment with a single dead page is rewritten.
	checkInterval = 6 * time.Hour
	oldAge        = 7 * 24 * time.Hour
)

// SelectForMerge returns the small or large segments to merge next: the segments of the smallest
// full tier. The segments of a tier are up to eight times as large as in the tier below. A page is
// thus rewritten once for each tier, and a million pages are in some thirty segments.
func SelectForMerge(segments []crawl.Segment, large bool) []crawl.Segment {
	tiers := map[int][]crawl.Segment{}
	for _, s := range segments {
		n := 0
		if s.Pages > maxTierPages {
			n = int(math.Ceil(math.Log(float64(s.Pages)/maxTierPages) / math.Log(segmentsPerTier)))
		}
		tiers[n] = append(tiers[n], s)
	}
	for n := range 16 {
		if large != (n >= smallTiers) || len(tiers[n]) < segmentsPerTier {
			continue
		}
		// A busy crawl adds segments faster than they are merged. Take many, the smallest first.
		some := tiers[n]
		slices.SortStableFunc(some, func(a, b crawl.Segment) int { return cmp.Compare(a.Bytes, b.Bytes) })
		pages, size := 0, int64(0)
		for i, s := range some {
			pages, size = pages+s.Pages, size+s.Bytes
			if i == mergeSegments || pages > mergePages || size > mergeBytes {
				some = some[:i]
				break
			}
		}
		if len(some) >= 2 {
			return some
		}
	}
	return nil
}

// SelectForCheck returns the small or large segment whose dead pages must be counted next.
func SelectForCheck(segments []crawl.Segment, large bool) (next crawl.Segment, due bool) {
	const maxSmallPages = maxTierPages * segmentsPerTier // of the last of smallTiers
	for _, s := range segments {
		if large == (s.Pages > maxSmallPages) && s.SinceCheck >= max(checkInterval, next.SinceCheck) {
			next, due = s, true
		}
	}
	return next, due
}

// NeedsRewrite reports whether a segment must be rewritten without its dead pages. It has many, or
// it is old, so that forbidden texts do not stay for long.
func NeedsRewrite(segment crawl.Segment, dead int) bool {
	return dead > 0 && (segment.Age >= oldAge || float64(dead) > maxDeadShare*float64(segment.Pages))
}

// DeadPages returns the pages of a segment that were deleted or have newer versions elsewhere.
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

// UpdateWorths rewrites the chunks of a segment with changed worths.
func UpdateWorths(ctx context.Context, src Scanner, segment crawl.Segment, store func(crawl.Chunk) error) error {
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
