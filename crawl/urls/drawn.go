package urls

// uuidLength is that of a UUID as text (RFC 9562 §4).
const uuidLength = 36

// IsSessionID reports whether a value could be a session's: long, and drawn at
// random. 16 characters hold 64 bits in hexadecimal.
func IsSessionID(value string) bool { return IsDrawn(value, 16, 4) }

// IsDrawn reports whether a text looks drawn at random rather than written: a UUID, or at least so
// many letters and digits that change from the one to the other and back so many times.
func IsDrawn(s string, length, changes int) bool {
	if len(s) == uuidLength && LeadingUUID(s) > 0 {
		return true
	}
	for i := range len(s) {
		if !isDigit(s[i]) && !isAlpha(s[i]) {
			return false
		}
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			changes--
		}
	}
	return len(s) >= length && changes <= 0
}

// LeadingUUID is the length of the UUID that a text begins with, if that ends
// there; 0 if there is none.
func LeadingUUID(s string) int {
	if len(s) < uuidLength || len(s) > uuidLength && (isDigit(s[uuidLength]) || isAlpha(s[uuidLength])) {
		return 0
	}
	for i := range uuidLength {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return 0
			}
		default:
			if !isHex(c) {
				return 0
			}
		}
	}
	return uuidLength
}
