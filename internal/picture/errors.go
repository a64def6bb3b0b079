package picture

import "errors"

// What can be said against a file. An error of [Reader.Read] is one of these, with what
// was found, or a fault of the file's storage or of the context.
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
