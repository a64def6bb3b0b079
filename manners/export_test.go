package manners

import "slices"

// Ruled is a case of one robots.txt, with the paths that the file allows and denies.
type Ruled struct {
	ID          string
	Allow, Deny []string
}

// RuledCases returns the cases of all tables.
func RuledCases() []Ruled {
	var cases []Ruled
	for _, t := range slices.Concat(robotsGroups(), robotsMatches(), robotsTexts(), robotsAnswers()) {
		cases = append(cases, Ruled{t.id, t.allow, t.deny})
	}
	return cases
}
