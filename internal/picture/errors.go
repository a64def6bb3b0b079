package picture

import "errors"

// The faults of a file. An error of [Reader.Read] wraps one of these, or is an error of
// the file's storage or of the context.
var (
	// ErrUnsupported: it is not in a format that is read.
	ErrUnsupported = errors.New("not an image in a format that is read")
	// ErrSVG: it is SVG, which is text and can hold scripts.
	ErrSVG = errors.New("svg is not read")
	// ErrTooManyPixels: it has more pixels than Limits.MaxPixels.
	ErrTooManyPixels = errors.New("too many pixels")
	// ErrTooSmall: it is smaller than Options asks for.
	ErrTooSmall = errors.New("too small")
	// ErrMalformed: it is cut off, or breaks the rules of its format.
	ErrMalformed = errors.New("malformed")
)
