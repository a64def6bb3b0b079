package index

import (
	"context"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
)

// View is the index and the pages that it finds, all as of the same instant.
type View interface {
	Source
	Scan(ctx context.Context, segment int64, kind crawl.ChunkKind, after []byte, most int) ([]crawl.Chunk, error)
	Segments(ctx context.Context) ([]crawl.Segment, error)
	// Stems returns what Postgres' dictionaries make of terms, each by a text search
	// configuration; nothing of a stop word.
	Stems(ctx context.Context, configs, terms []string) ([][]string, error)
	// Pages returns the pages of hits, without those that are older versions or must not
	// be shown.
	Pages(ctx context.Context, hits []Hit) ([]report.SearchHit, error)
	// Sections returns the headings of pages and the terms under them.
	Sections(ctx context.Context, pages []int64) ([]report.SearchSections, error)
}

// wordsScanned is how many chunks of the dictionary are read for words with a beginning.
const wordsScanned = 256

// Words calls yield with words that begin with some letters, and how many pages of a
// segment have them. It reads 2 MB of the dictionary at most.
func Words(ctx context.Context, v View, segment int64, beginning string, yield func(word string, pages int)) error {
	prefix := Word(beginning)
	first, err := v.Terms(ctx, []int64{segment}, []string{prefix})
	if err != nil {
		return err
	}
	tell := func(chunk []byte) (past bool, err error) {
		for key, coded := range entriesOf(chunk) {
			if !strings.HasPrefix(key, prefix) {
				if past = key > prefix; past {
					break
				}
				continue
			}
			e, err := readEntry(coded)
			if err != nil {
				return false, err
			}
			yield(key[len(wordPrefix):], e.pages)
		}
		return past, nil
	}
	if past, err := tell(first[0]); err != nil || past {
		return err
	}
	after := []byte(prefix)
	for n := 0; n < wordsScanned; n += scanned {
		chunks, err := v.Scan(ctx, segment, KindTerms, after, scanned)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			after = c.Key
			if past, err := tell(c.Data); err != nil || past {
				return err
			}
		}
		if len(chunks) < scanned {
			return nil
		}
	}
	return nil
}
