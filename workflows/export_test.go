package workflows

import "go.temporal.io/sdk/temporal"

// ValidateAddURLs is the validator of UpdateAddURLs, asked about what has been read.
func ValidateAddURLs(m AddURLs, domain string) error {
	m.input = input{read: true}
	return m.validate(domain)
}

// SearchAttributes are those that workflows set.
func SearchAttributes() []temporal.SearchAttributeKey {
	return []temporal.SearchAttributeKey{attrDomain, attrRun, attrStatus}
}
