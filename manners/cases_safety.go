package manners

import "slices"

// safetyCases are about what is hostile or broken.
func safetyCases() []Case {
	return slices.Concat(privateCases(), tlsCases(), trapCases(), bombCases(), brokenCases())
}
