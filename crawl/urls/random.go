package urls

// uuidLength is the length of a UUID as text (RFC 9562 §4).
const uuidLength = 36

// IsSessionID reports whether a value could be a session's: random, and at least 64 bits in
// hexadecimal.
func IsSessionID(value string) bool { return LooksRandom(value, 16, 4) }

// LooksRandom reports whether a text looks random: a UUID, or at least length letters and digits
// with so many changes between the two.
func LooksRandom(s string, length, changes int) bool {
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

// LeadingUUID returns the length of a complete UUID that a text begins with; 0 without one.
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
