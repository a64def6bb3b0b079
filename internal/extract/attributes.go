package extract

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// attributes are those of an element, their keys in lower case and each of them once.
type attributes []html.Attribute

// get returns the value of an attribute; empty if there is none.
func (a attributes) get(key string) string {
	for i := range a {
		if a[i].Key == key && a[i].Namespace == "" {
			return a[i].Val
		}
	}
	return ""
}

// hasToken reports whether a list of tokens separated by white space has one of some
// tokens, in whatever case.
func hasToken(list string, tokens ...string) bool {
	for field := range strings.FieldsSeq(list) {
		if slices.ContainsFunc(tokens, func(token string) bool { return strings.EqualFold(field, token) }) {
			return true
		}
	}
	return false
}

// refreshTarget returns the URL in the content of a meta refresh, such as
// "5; url='next.html'", by the shared declarative refresh steps of HTML. It is
// empty if the page only reloads itself.
func refreshTarget(content string) string {
	const space = " \t\n\f\r"
	rest := strings.TrimLeft(content, space)
	afterTime := strings.TrimLeft(rest, "0123456789.")
	if afterTime == rest {
		return ""
	}
	rest = strings.TrimLeft(afterTime, space)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], space)
	} else if rest == afterTime {
		return "" // neither a separator nor a space: "5x"
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if value, ok := strings.CutPrefix(strings.TrimLeft(rest[3:], space), "="); ok {
			rest = strings.TrimLeft(value, space)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	return rest
}
