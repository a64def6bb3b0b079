package extract

import (
	"iter"
	"math"
	"strconv"
	"strings"
)

// maxSrcset caps the candidates of one srcset. Pages have a dozen.
const maxSrcset = 64

// htmlSpace is the ASCII whitespace of HTML.
const htmlSpace = " \t\n\f\r"

// srcsetCandidate is one URL of a srcset with its width in pixels, or its pixels per CSS pixel.
type srcsetCandidate struct {
	ref     string
	width   int
	density float64
}

// parseSrcset reads a srcset by the steps "parse a srcset attribute" of the HTML standard, section
// 4.8.4.2.2. It skips malformed candidates and ignores candidates after the first maxSrcset.
func parseSrcset(value string) (list []srcsetCandidate) {
	for len(list) < maxSrcset {
		value = strings.TrimLeft(value, htmlSpace+",")
		if value == "" {
			return list
		}
		end := strings.IndexAny(value, htmlSpace)
		if end < 0 {
			end = len(value)
		}
		candidate := srcsetCandidate{ref: value[:end], density: 1}
		value = value[end:]
		if ref := strings.TrimRight(candidate.ref, ","); ref != candidate.ref {
			candidate.ref = ref // the comma ends it without descriptors
			list = append(list, candidate)
			continue
		}
		descriptors := value[:descriptorsLength(value)]
		value = value[len(descriptors):]
		if candidate.describe(descriptors) {
			list = append(list, candidate)
		}
	}
	return list
}

// descriptorsLength returns the length of descriptors. They end at a comma outside parentheses.
func descriptorsLength(s string) int {
	inParens := false
	for i := range len(s) {
		switch c := s[i]; {
		case inParens:
			inParens = c != ')'
		case c == '(':
			inParens = true
		case c == ',':
			return i
		}
	}
	return len(s)
}

// describe reads the descriptors of a candidate and reports whether they are valid. Descriptors
// with parentheses are always invalid, so they need not be separated.
func (c *srcsetCandidate) describe(descriptors string) bool {
	hasWidth, hasDensity, hasHeight := false, false, false
	for d := range strings.FieldsFuncSeq(descriptors, func(r rune) bool { return strings.ContainsRune(htmlSpace, r) }) {
		number, unit := d[:len(d)-1], d[len(d)-1]
		switch {
		case unit == 'w' && !hasWidth && !hasDensity:
			hasWidth = true
			if c.width = parseInteger(number); c.width == 0 {
				return false
			}
		case unit == 'x' && !hasWidth && !hasDensity && !hasHeight:
			hasDensity = true
			var ok bool
			if c.density, ok = parseFloat(number); !ok || c.density < 0 {
				return false
			}
		case unit == 'h' && !hasHeight && !hasDensity:
			hasHeight = true // allowed, but without meaning
			if parseInteger(number) == 0 {
				return false
			}
		default:
			return false
		}
	}
	return hasWidth || !hasHeight
}

// parseInteger parses a non-negative integer of at most math.MaxInt32. It returns 0 if it is
// invalid.
func parseInteger(s string) int {
	if strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil && s != "" || n > math.MaxInt32 {
		return math.MaxInt32
	}
	return n
}

// parseFloat parses a floating-point number of HTML. Unlike Go, it rejects "+1", "1.", "Inf",
// "0x1".
func parseFloat(s string) (float64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if strings.Trim(digits, "0123456789.eE+-") != "" || strings.HasPrefix(digits, "+") || strings.HasPrefix(digits, "-") {
		return 0, false
	}
	mantissa := digits
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		mantissa = digits[:i]
	}
	if strings.HasSuffix(mantissa, ".") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// backgroundSets returns the sets of a data-bgset of lazysizes, each with its optional media type,
// like the sources of a picture. A bar beside whitespace separates them. Brackets after a set
// contain a media query, the name of a query, or a type:
//
//	a.jpg 180w 120h, b.jpg 360w [(max-width: 480px)] | c.webp [type: image/webp] | d.jpg
func backgroundSets(value string) iter.Seq2[string, string] {
	return func(yield func(srcset, mediaType string) bool) {
		begin := 0
		for i := range len(value) {
			if value[i] != '|' || !isSpaceAt(value, i-1) && !isSpaceAt(value, i+1) {
				continue
			}
			if !yield(cutConditions(value[begin:i])) {
				return
			}
			begin = i + 1
		}
		yield(cutConditions(value[begin:]))
	}
}

// cutConditions removes the brackets at the end of a set.
func cutConditions(set string) (srcset, mediaType string) {
	set = strings.Trim(set, htmlSpace)
	if !strings.HasSuffix(set, "]") {
		return set, ""
	}
	for i := range len(set) {
		if set[i] != '[' || i > 0 && !isSpaceAt(set, i-1) {
			continue
		}
		for condition := range strings.FieldsFuncSeq(set[i:], func(r rune) bool { return r == '[' || r == ']' }) {
			name, value, _ := strings.Cut(strings.Trim(condition, htmlSpace+"()"), ":")
			if strings.TrimRight(name, htmlSpace) == "type" {
				mediaType = strings.Trim(value, htmlSpace)
			}
		}
		return set[:i], mediaType
	}
	return set, ""
}

// isSpaceAt reports whether s has whitespace at index i, which may be out of range.
func isSpaceAt(s string, i int) bool {
	return i >= 0 && i < len(s) && strings.IndexByte(htmlSpace, s[i]) >= 0
}
