package crawl

// TrapKind is the kind of endless space that a URL seems to be part of. The
// values are an on-disk format.
type TrapKind string

// The kinds of traps. Package traps has the bounds.
const (
	// TrapDepth is a path of too many segments.
	TrapDepth TrapKind = "path depth"
	// TrapLength is a path of too many bytes.
	TrapLength TrapKind = "path length"
	// TrapRepeat is a path that repeats itself, as relative links do that are
	// resolved against the wrong base.
	TrapRepeat TrapKind = "repeated segments"
	// TrapDate is a date so far off that only a calendar can name it.
	TrapDate TrapKind = "far date"
	// TrapSession is what looks like a session id and has an unknown name.
	TrapSession TrapKind = "session id"
	// TrapQuery is a query of too many parameters.
	TrapQuery TrapKind = "query parameters"
	// TrapPattern is a pattern of URLs whose pages brought nothing new.
	TrapPattern TrapKind = "pattern"
)

// Trap is the verdict that a URL is part of an endless space, and the evidence
// for it in words. The zero value is no trap.
type Trap struct {
	Kind     TrapKind `json:"kind"`
	Evidence string   `json:"evidence"`
}
