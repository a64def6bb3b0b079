package extract

import (
	"strings"

	"golang.org/x/net/html"
)

// attributes holds the values of the attributes that matter.
type attributes struct {
	alt, class, content, datetime, href, hreflang, httpEquiv, id, itemprop, kind, lang, name, property, rel, role, src string
}

// set stores the value of an attribute whose key is in lower case.
func (a *attributes) set(key, value string) {
	switch key {
	case "alt":
		a.alt = value
	case "class":
		a.class = value
	case "content":
		a.content = value
	case "datetime":
		a.datetime = value
	case "href":
		a.href = value
	case "hreflang":
		a.hreflang = value
	case "http-equiv":
		a.httpEquiv = value
	case "id":
		a.id = value
	case "itemprop":
		a.itemprop = value
	case "lang":
		a.lang = value
	case "name":
		a.name = value
	case "property":
		a.property = value
	case "rel":
		a.rel = value
	case "role":
		a.role = value
	case "src":
		a.src = value
	case "type":
		a.kind = value
	}
}

func attributesOf(attrs []html.Attribute) attributes {
	var a attributes
	for _, attr := range attrs {
		if attr.Namespace == "" {
			a.set(attr.Key, attr.Val)
		}
	}
	return a
}

// hasToken reports whether a list of tokens separated by white space has token, in
// whatever case.
func hasToken(list, token string) bool {
	for field := range strings.FieldsSeq(list) {
		if strings.EqualFold(field, token) {
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
