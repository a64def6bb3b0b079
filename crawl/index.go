package crawl

import "time"

// Index holds the terms by which a page is found, as package terms cuts them, with their places:
// "cat:2,7 the:1". Their order is not that of the text. For a page that is not to be archived it
// has counts in place of places: "cat:*2 the:*1".
type Index struct {
	// Configs are the text search configurations of Postgres that make the stems of the terms.
	Configs     []string `json:"configs"`
	Title       string   `json:"a,omitempty"`
	Headings    string   `json:"b,omitempty"`
	Description string   `json:"c,omitempty"`
	Text        string   `json:"d,omitempty"`
	// Address has the words of the page's URL.
	Address string `json:"e,omitempty"`
	// Second is the BCP 47 tag of another language that much of the page is in, if any.
	Second string `json:"second,omitempty"`
	// Sections are the headings under which the terms of Text stand, in their order.
	Sections []Section `json:"sections,omitempty"`
}

// Section is a part of a page's text under a heading.
type Section struct {
	Heading string `json:"h"`
	// At is the place of its first term in the text, from 1 on.
	At int `json:"at"`
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
