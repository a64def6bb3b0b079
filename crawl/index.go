package crawl

import "time"

// Index holds the terms by which a page is found, as package terms cuts them, in the order of their
// letters: "cat:2:g1f the:3". A term has the number of its occurrences and the buckets of the terms
// that precede it (BucketOf): a letter for their width, from a for 1 bit to h for 8, and two
// hexadecimal digits for each. A term without this part may follow any term. The order of the text is
// not kept.
type Index struct {
	// Configs are the text search configurations of Postgres that make the stems of the terms.
	Configs     []string `json:"configs"`
	Title       string   `json:"a,omitempty"`
	Headings    string   `json:"b,omitempty"`
	Description string   `json:"c,omitempty"`
	Text        string   `json:"d,omitempty"`
	// Address has the words of the page's URL.
	Address string `json:"e,omitempty"`
	// Words and TitleWords are the lengths of Text and Title, in words.
	Words      int `json:"words,omitempty"`
	TitleWords int `json:"title_words,omitempty"`
	// Second is the BCP 47 tag of another language that much of the page is in, if any.
	Second string `json:"second,omitempty"`
	// Outline has the headings in the main text, in their order.
	Outline []string `json:"outline,omitempty"`
}

// BucketOf returns the bucket of a term, by a hash. Of a page only so many bits are kept that several of
// its terms are in each bucket: which bucket precedes a term rules most other terms out, as a phrase in
// quotes needs, and does not tell the term.
func BucketOf(term string) uint8 {
	h := Hash32(term)
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24) //nolint:gosec // a byte
}

// Hash32 returns the FNV-1a hash of a name. It is a part of on-disk formats.
func Hash32(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// IndexedPage is a page on its way into the index.
type IndexedPage struct {
	Index

	Page   int64
	Domain string
	// Language is a tag of BCP 47; empty means undetermined.
	Language string
	// Anchors are the terms of what other domains call the page, as in an Index.
	Anchors string
	// Worth is how much the page is worth by who links to it, from 0 to 1.
	Worth float32
	// Date is when it was published, else changed, else fetched.
	Date time.Time
	// Version tells apart what the index has of a page at different times.
	Version int64
}

// ChunkKind is what a chunk of the index holds. It is an on-disk format.
type ChunkKind int16

// Segment is an immutable part of the index. A page that is read again goes to another segment,
// with a higher version.
type Segment struct {
	ID int64
	// Pages counts its pages, those that have newer versions elsewhere included.
	Pages int
	// Words counts the terms of their texts.
	Words int64
	// Bytes is the size of its chunks.
	Bytes int64
	// Languages are those of its pages, by the numbers that its chunks use.
	Languages []string
	// Age is the time since it was written, Unchecked since its outdated pages were counted.
	Age, Unchecked time.Duration
}

// Chunk is some kilobytes of a segment.
type Chunk struct {
	Kind ChunkKind
	// Key orders the chunks of a kind, byte by byte.
	Key, Data []byte
}

// ChunkRef names a chunk.
type ChunkRef struct {
	Segment int64
	Kind    ChunkKind
	Key     string
}
