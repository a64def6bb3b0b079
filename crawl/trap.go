package crawl

// TrapRule is the kind of endless space that a URL seems to be part of. The
// values are an on-disk format.
type TrapRule string

// The kinds of traps. Package traps has the bounds.
const (
	// TrapDepth is a path of too many segments.
	TrapDepth TrapRule = "path depth"
	// TrapLength is a path of too many bytes.
	TrapLength TrapRule = "path length"
	// TrapRepeat is a path that repeats itself, as relative links do that are
	// resolved against the wrong base.
	TrapRepeat TrapRule = "repeated segments"
	// TrapDate is a date so far off that only a calendar can name it.
	TrapDate TrapRule = "far date"
	// TrapSession is what looks like a session id and has an unknown name.
	TrapSession TrapRule = "session id"
	// TrapQuery is a query of too many parameters.
	TrapQuery TrapRule = "query parameters"
	// TrapPattern is a pattern of URLs whose pages brought nothing new.
	TrapPattern TrapRule = "pattern"
)

// Trap names the rule by which a URL is part of an endless space, and the evidence in
// words. The zero value is no trap.
type Trap struct {
	Rule     TrapRule `json:"kind"`
	Evidence string   `json:"evidence"`
}
