package workflows

// ValidateAddURLs is the validator of UpdateAddURLs.
func ValidateAddURLs(m AddURLs, domain string) error { return m.validate(domain) }
