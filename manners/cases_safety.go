package manners

import "slices"

// safetyCases returns the cases of hostile or broken sites.
func safetyCases() []Case {
	return slices.Concat(privateCases(), tlsCases(), trapCases(), bombCases(), brokenCases())
}
