package workflows

import "time"

// ValidateAddURLs is the validator of UpdateAddURLs, asked about what has been read.
func ValidateAddURLs(m AddURLs, domain string) error {
	return m.validate(domain)
}

// Carried returns the state that a domain passes to the next execution.
func Carried(s DomainState) DomainState { return s.forNextExecution() }

// Details returns the current details of a domain in a state.
func Details(domainName string, s DomainState, now time.Time) string {
	d := domain{name: domainName, state: s}
	return d.details(now)
}

// WaitSummary returns the label of the timer of a wait.
func WaitSummary(s DomainState) string { return s.waitSummary() }
