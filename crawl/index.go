package crawl

import (
	"math/bits"
	"time"
)

// Index holds a page's search terms, as package terms cuts them, in alphabetical order: "cat:2:g1f
// the:3". A term has the number of its occurrences and the buckets of the preceding terms
// (BucketOf): a letter for their width, from a for 1 bit to h for 8, and two hexadecimal digits
// each. A term without buckets may follow any term. The order of the text is lost.
type Index struct {
	// Configs names the text search configurations of Postgres that stem the terms.
	Configs     []string `json:"configs"`
	Title       string   `json:"a,omitempty"`
	Headings    string   `json:"b,omitempty"`
	Description string   `json:"c,omitempty"`
	Text        string   `json:"d,omitempty"`
	// Address holds the words of the page's URL.
	Address string `json:"e,omitempty"`
	// Words and TitleWords are the lengths of Text and Title, in words.
	Words      int `json:"words,omitempty"`
	TitleWords int `json:"title_words,omitempty"`
	// SecondLanguage is the BCP 47 tag of another language used in much of the page, if any.
	SecondLanguage string `json:"second_language,omitempty"`
	// Outline lists the headings of the main text in document order.
	Outline []string `json:"outline,omitempty"`
}

// BucketBits is the number of bits of a bucket.
const BucketBits = 8

// BucketOf returns the bucket of a term, by a hash. An index keeps so few bits of it that each
// bucket holds several of a page's terms. The preceding bucket rules out most other terms, as
// quoted phrases need, without revealing the term.
func BucketOf(term string) uint8 {
	h := Hash32(term)
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24) //nolint:gosec // a byte
}

// Buckets is a set of buckets.
type Buckets [1 << BucketBits / 64]uint64

// Add adds the last bits of a bucket, which are from 1 to BucketBits.
func (b *Buckets) Add(bucket uint8, width int) {
	bucket &= 1<<width - 1
	b[bucket/64] |= 1 << (bucket % 64)
}

// Narrow returns the set of the last bits of the buckets.
func (b *Buckets) Narrow(width int) (narrow Buckets) {
	for bucket := range b.All {
		narrow.Add(bucket, width)
	}
	return narrow
}

// All yields the buckets in their order.
func (b *Buckets) All(yield func(bucket uint8) bool) {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			if !yield(uint8(i*64 + bits.TrailingZeros64(word))) { //nolint:gosec // below 256
				return
			}
		}
	}
}

// Hash32 returns the FNV-1a hash of a name. It is a part of on-disk formats.
func Hash32(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// IndexedPage is a page to be added to the index.
type IndexedPage struct {
	Index

	Page   int64
	Domain string
	// Language is a tag of BCP 47; empty means undetermined.
	Language string
	// Anchors holds the terms of other domains' links to the page, in the form of an Index.
	Anchors string
	// Score is the page's score by its links, from 0 to 1.
	Score float32
	// Date is its time of publication, else of change, else of fetching.
	Date time.Time
	// Version distinguishes the versions of a page in the index.
	Version int64
}

// ChunkKind is the kind of content of an index chunk. It is an on-disk format.
type ChunkKind int16

// Segment is an immutable part of the index. Another segment gets a new version of a page.
type Segment struct {
	ID int64
	// Pages counts its pages, including pages with newer versions elsewhere.
	Pages int
	// Words counts the terms of their texts.
	Words int64
	// Bytes is the size of its chunks.
	Bytes int64
	// Languages lists its pages' languages, by the numbers that its chunks use.
	Languages []string
	// Age is the time since writing, SinceCheck the time since its outdated pages were counted.
	Age, SinceCheck time.Duration
}

// Chunk holds some kilobytes of a segment.
type Chunk struct {
	Kind ChunkKind
	// Key orders the chunks of a kind, byte by byte.
	Key, Data []byte
}

// ChunkRef identifies a chunk.
type ChunkRef struct {
	Segment int64
	Kind    ChunkKind
	Key     string
}
