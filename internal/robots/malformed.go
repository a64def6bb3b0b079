package robots

import "strings"

// controlShare is the share of control octets, one in so many, beyond which a
// body counts as binary. Compressed data has one in ten, text next to none.
const controlShare = 32

// malformed says why text is no robots.txt, or "" if it may be one.
func malformed(text string) string {
	if isMarkup(strings.TrimLeft(text, blanks+"\r\n")) {
		return "an HTML or XML document"
	}
	controls := 0
	for i := range len(text) {
		if isControl(text[i]) && !strings.ContainsRune(blanks+"\r\n", rune(text[i])) {
			controls++
		}
	}
	if controls*controlShare > len(text) {
		return "binary data"
	}
	return ""
}

// isMarkup reports whether text begins like a tag, a comment or a declaration.
// No line of a robots.txt can.
func isMarkup(text string) bool {
	if len(text) < 2 || text[0] != '<' {
		return false
	}
	return text[1] == '!' || text[1] == '?' || isLetter(text[1])
}

func isControl(b byte) bool {
	return b < ' ' || b == 0x7f
}
