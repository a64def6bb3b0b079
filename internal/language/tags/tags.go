// Package tags says how the tag of a language (BCP 47) is written where pages are stored,
// and which stored tags a person means who asks for one.
package tags

import (
	"fmt"
	"slices"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/crawl"
)

// canon replaces old codes ("iw" is "he", "mo" is "ro-MD"), and a member of a macrolanguage
// by the macrolanguage if nearly everybody writes that ("cmn" is "zh").
const canon = language.DeprecatedBase | language.DeprecatedScript | language.DeprecatedRegion | language.SuppressScript |
	language.Legacy | language.Macro

// stored has the languages that are stored by another code than the canonical one: by that
// of the models.
var stored = map[string]string{"no": "nb", "fil": "tl"}

// Canonical is a tag as it is stored: its language, and its script and region if it names
// them. Variants and extensions are left out. It is language.Und for a tag without a
// language.
func Canonical(tag language.Tag) language.Tag {
	if canonical, err := canon.Canonicalize(tag); err == nil {
		tag = canonical
	}
	base, script, region := tag.Raw()
	if code, is := stored[base.String()]; is {
		base = language.MustParseBase(code)
	}
	named, err := language.Raw.Compose(base, script, region)
	if err != nil {
		return language.Und
	}
	return named
}

// UsualScript is the script that a page in a language has unless its tag names another.
func UsualScript(base language.Base) language.Script {
	of, err := language.Raw.Compose(base)
	if err != nil {
		return language.Script{}
	}
	script, _ := of.Script()
	return script
}

// Written is the canonical tag of a page by its parts. The usual script of its language is
// left out, but that of Chinese is not: people call either of its two usual.
func Written(base language.Base, script language.Script, region language.Region) language.Tag {
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

// members are the languages that a macrolanguage stands for when somebody asks for it.
var members = map[string][]string{
	"no": {"nb", "nn"},
	"sh": {"sr", "hr", "bs", "cnr"},
}

// former are other codes by which an older Mosey, or somebody else, may have stored the
// pages of a language.
var former = map[string][]string{
	"nb": {"no"}, "tl": {"fil"}, "sr": {"sh"}, "zh": {"cmn"}, "he": {"iw"}, "id": {"in"}, "yi": {"ji"}, "jv": {"jw"}, "ro": {"mo"},
}

// Range is what somebody means by a tag.
type Range struct {
	// Bases are the languages of pages that may match, by the first subtag of what is
	// stored.
	Bases []string

	languages []language.Base
	// script and region are zero if any will do.
	script language.Script
	region language.Region
}

// Asked reads the tag that somebody asks for. One that cannot be read, or that names no
// language, is crawl.ErrInvalid.
func Asked(text string) (Range, error) {
	plain, err := language.BCP47.Parse(text)
	macro, _, _ := plain.Raw()
	if err != nil || Nameless(macro) {
		return Range{}, fmt.Errorf(`%w: language %q: want a tag such as "en" or "pt-BR"`, crawl.ErrInvalid, text)
	}
	r := Range{}
	base, script, region := Canonical(plain).Raw()
	codes, is := members[macro.String()]
	if !is {
		codes = []string{base.String()}
	} else {
		_, script, region = plain.Raw()
	}
	for _, code := range codes {
		r.languages = append(r.languages, language.MustParseBase(code))
		r.Bases = append(append(r.Bases, code), former[code]...)
	}
	r.script, r.region = script, region
	if base == chinese && script == (language.Script{}) && region != (language.Region{}) {
		// zh-TW is how most ask for traditional characters, wherever they are written
		r.script, _ = plain.Script()
		r.region = language.Region{}
	}
	return r, nil
}

// Nameless reports whether a code says that the language is open, or several, or none.
func Nameless(base language.Base) bool {
	return slices.Contains([]string{"und", "mul", "zxx", "mis"}, base.String())
}

// Matches reports whether a page is meant whose language is stored as tag. A page that does
// not name a region is not excluded by one.
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
