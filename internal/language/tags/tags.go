// Package tags canonicalizes the language tags (BCP 47) of stored pages, and matches them.
package tags

import (
	"fmt"
	"slices"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/crawl"
)

// canon replaces old codes ("iw" is "he", "mo" is "ro-MD"). It replaces a member of a macrolanguage
// by the macrolanguage if that is common usage ("cmn" is "zh").
const canon = language.DeprecatedBase | language.DeprecatedScript | language.DeprecatedRegion | language.SuppressScript |
	language.Legacy | language.Macro

// storedCodes maps canonical codes to the codes of the models, which are stored instead.
var storedCodes = map[string]string{"no": "nb", "fil": "tl"}

// Canonical returns a tag in stored form: its language and its explicit script and region, without
// variants and extensions. It returns language.Und for a tag without a language.
func Canonical(tag language.Tag) language.Tag {
	if canonical, err := canon.Canonicalize(tag); err == nil {
		tag = canonical
	}
	base, script, region := tag.Raw()
	if code, is := storedCodes[base.String()]; is {
		base = language.MustParseBase(code)
	}
	explicit, err := language.Raw.Compose(base, script, region)
	if err != nil {
		return language.Und
	}
	return explicit
}

// UsualScript returns the script of pages in a language whose tags name no script.
func UsualScript(base language.Base) language.Script {
	of, err := language.Raw.Compose(base)
	if err != nil {
		return language.Script{}
	}
	script, _ := of.Script()
	return script
}

// Compose returns the canonical tag of a page by its parts. It omits the language's usual script,
// except for Chinese, because either of its two scripts may be called usual.
func Compose(base language.Base, script language.Script, region language.Region) language.Tag {
	if script == UsualScript(base) && base != chinese {
		script = language.Script{}
	}
	tag, err := language.Raw.Compose(base, script, region)
	if err != nil {
		return language.Und
	}
	return tag
}

var chinese = language.MustParseBase("zh")

// macrolanguageMembers maps a requested macrolanguage to its languages.
var macrolanguageMembers = map[string][]string{
	"no": {"nb", "nn"},
	"sh": {"sr", "hr", "bs", "cnr"},
}

// formerCodes lists other codes under which an older Mosey or another program may have stored
// pages.
var formerCodes = map[string][]string{
	"nb": {"no"}, "tl": {"fil"}, "sr": {"sh"}, "zh": {"cmn"}, "he": {"iw"}, "id": {"in"}, "yi": {"ji"}, "jv": {"jw"}, "ro": {"mo"},
}

// Range is the set of stored tags that match a requested tag.
type Range struct {
	// Bases are the languages of pages that may match, by the first subtag of the stored tag.
	Bases []string

	languages []language.Base
	// script and region are zero if they may have any value.
	script language.Script
	region language.Region
}

// ParseRange parses a requested tag. It returns crawl.ErrInvalid if it is invalid or has no
// language.
func ParseRange(text string) (Range, error) {
	plain, err := language.BCP47.Parse(text)
	macro, _, _ := plain.Raw()
	if err != nil || IsUndetermined(macro) {
		return Range{}, fmt.Errorf(`%w: language %q: want a tag such as "en" or "pt-BR"`, crawl.ErrInvalid, text)
	}
	r := Range{}
	base, script, region := Canonical(plain).Raw()
	codes, is := macrolanguageMembers[macro.String()]
	if !is {
		codes = []string{base.String()}
	} else {
		_, script, region = plain.Raw()
	}
	for _, code := range codes {
		r.languages = append(r.languages, language.MustParseBase(code))
		r.Bases = append(append(r.Bases, code), formerCodes[code]...)
	}
	r.script, r.region = script, region
	if base == chinese && script == (language.Script{}) && region != (language.Region{}) {
		// zh-TW usually means traditional characters, wherever they are written
		r.script, _ = plain.Script()
		r.region = language.Region{}
	}
	return r, nil
}

// IsUndetermined reports whether a code means undetermined, several languages or no language.
func IsUndetermined(base language.Base) bool {
	return slices.Contains([]string{"und", "mul", "zxx", "mis"}, base.String())
}

// Matches reports whether a stored tag matches. A page without a region matches any region.
func (r Range) Matches(tag string) bool {
	parsed, err := language.BCP47.Parse(tag)
	if err != nil {
		return false
	}
	base, script, region := Canonical(parsed).Raw()
	if !slices.Contains(r.languages, base) {
		return false
	}
	if script == (language.Script{}) {
		script = UsualScript(base)
	}
	if r.script != (language.Script{}) && script != r.script {
		return false
	}
	none := language.Region{}
	return r.region == none || region == none || region == r.region || r.region.Contains(region)
}
