package robots

import (
	"regexp"
	"strings"

	"github.com/temoto/robotstxt"
)

// Within these bounds one decision of temoto/robotstxt costs at most some millions of steps, even
// on patterns built to be slow: its regular expressions take time proportional to pattern length
// times path length. Nearly all real groups are far within them.
const (
	temotoMaxRules          = 1000
	temotoMaxWildcardRules  = 30
	temotoMaxStars          = 5    // in one rule
	temotoMaxWildcardOctets = 1024 // in all wildcard rules together
	temotoMaxPathOctets     = 4096
)

// temoto makes github.com/temoto/robotstxt decide over one group that has been cleaned and
// percent-encoded.
//
// By itself, that library differs from RFC 9309 in three ways on such a group. The text that it
// reads corrects each:
//
//   - Patterns with wildcards match anywhere in the path. So paths are tested
//     with a prefix, "/<<<>", and rules begin with it. "<" and ">" never occur
//     in a normalized path.
//   - Of two such rules the one with the longer regular expression wins, whose
//     source is longer than the pattern. So a rule with wildcards has fewer "<", by
//     its excess length, and a "*" before the ">" that matches the missing ones.
//   - Of two rules with the same length the first wins. So Allow rules come first.
type temoto struct {
	group  *robotstxt.Group
	prefix string
}

// newTemoto returns nil if the rules, sorted by strength, are out of bounds.
func newTemoto(rules []rule) *temoto {
	if len(rules) == 0 || !temotoBounded(rules) {
		return nil
	}
	padding := 0
	for _, rule := range rules {
		if hasWildcard(rule.pattern) {
			padding = max(padding, len(temotoPadStar)+temotoExcess(rule.pattern))
		}
	}
	prefix := "/" + strings.Repeat("<", padding) + ">"

	var text strings.Builder
	text.WriteString("User-agent: *\n")
	for _, rule := range rules {
		text.WriteString(rule.name())
		if hasWildcard(rule.pattern) {
			saved := len(temotoPadStar) + temotoExcess(rule.pattern)
			text.WriteString("/" + strings.Repeat("<", padding-saved) + "*>")
		} else {
			text.WriteString(prefix)
		}
		text.WriteString(rule.pattern + "\n")
	}
	data, err := robotstxt.FromString(text.String())
	if err != nil {
		// No group of this package causes this, and the own matcher decides as well.
		return nil
	}
	return &temoto{group: data.FindGroup("*"), prefix: prefix}
}

// covers reports whether temoto decides about a normalized path.
func (t *temoto) covers(path string) bool {
	return t != nil && len(path) <= temotoMaxPathOctets
}

func (t *temoto) allows(path string) bool {
	return t.group.Test(t.prefix + path)
}

func temotoBounded(rules []rule) bool {
	wildcards, octets := 0, 0
	for _, rule := range rules {
		if !hasWildcard(rule.pattern) {
			continue
		}
		wildcards++
		octets += len(rule.pattern)
		if strings.Count(rule.pattern, "*") > temotoMaxStars {
			return false
		}
	}
	return len(rules) <= temotoMaxRules && wildcards <= temotoMaxWildcardRules &&
		octets <= temotoMaxWildcardOctets
}

// temotoPadStar is the regular expression of the "*" before the ">".
const temotoPadStar = ".*"

// temotoExcess returns the length of temoto's regular expression beyond its pattern. It is at least
// -1, as temoto drops a final "*".
func temotoExcess(pattern string) int {
	trimmed := strings.TrimSuffix(pattern, "*")
	// QuoteMeta makes two octets of "*", and so does temoto; but one of "$".
	source := len(regexp.QuoteMeta(trimmed)) - strings.Count(trimmed, "$")
	return source - len(pattern)
}

func hasWildcard(pattern string) bool {
	return strings.ContainsAny(pattern, "*$")
}
