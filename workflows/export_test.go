package workflows

import "go.temporal.io/sdk/temporal"

// ValidateAddURLs is the validator of UpdateAddURLs.
func ValidateAddURLs(m AddURLs, domain string) error { return m.validate(domain) }

// SearchAttributes are those that workflows set.
func SearchAttributes() []temporal.SearchAttributeKey {
	return []temporal.SearchAttributeKey{attrDomain, attrRun, attrStatus}
}
