package extract

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

const (
	// MaxSections caps Page.Sections.
	MaxSections = 200
	// MaxSectionBytes caps Section.Heading.
	MaxSectionBytes = 120
)

// Section is a part of a page's main text that has a heading.
type Section struct {
	// Heading is in normal form C, at most MaxSectionBytes long, cut between words.
	Heading string
	// At is where in Page.Main the text under the heading begins, in bytes.
	At int
}

// section notes a heading behind which the main text is at the byte at.
func (m *builder) section(heading string, at int) {
	if heading = strings.TrimSpace(heading); heading != "" && len(m.sections) < MaxSections {
		m.sections = append(m.sections, Section{Heading: heading, At: at})
	}
}

// allSections are those of a text that counts as a whole.
func (m *builder) allSections(text string, list []block) {
	m.sections = m.sections[:0]
	for _, bl := range list {
		if bl.place&inHeading == 0 {
			continue
		}
		at := bl.end
		if strings.HasPrefix(text[at:], " ") {
			at++
		}
		m.section(text[bl.start:bl.end], at)
	}
}

// sectionsOf are those found that have a text in main, their headings fit to be kept.
func (m *builder) sectionsOf(main string) []Section {
	var list []Section
	for _, s := range m.sections {
		if s.At >= len(main) {
			break // they are in order
		}
		list = append(list, Section{Heading: cutWords(norm.NFC.String(s.Heading), MaxSectionBytes), At: s.At})
	}
	return list
}

// compose puts a main text in normal form C. Its sections begin behind white space, which
// nothing is composed with.
func (m *mainText) compose() {
	var main strings.Builder
	begin := 0
	for i := range m.sections {
		s := &m.sections[i]
		main.WriteString(norm.NFC.String(m.main[begin:s.At]))
		begin, s.At = s.At, main.Len()
	}
	main.WriteString(norm.NFC.String(m.main[begin:]))
	m.main, m.headings, m.prose = main.String(), norm.NFC.String(m.headings), norm.NFC.String(m.prose)
}

// cutWords is what of a text fits, up to the end of a word if there is one.
func cutWords(text string, most int) string {
	if len(text) <= most {
		return text
	}
	whole := strings.LastIndexByte(text[:most+1], ' ')
	if whole > 0 {
		return text[:whole]
	}
	return prefix(text, most)
}
