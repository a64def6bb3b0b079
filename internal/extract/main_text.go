package extract

import (
	"slices"
	"strings"
)

// MaxMainRunes caps Page.Main, in characters.
const MaxMainRunes = 300_000

const (
	// maxHeadingsBytes caps Page.Headings.
	maxHeadingsBytes = 4 << 10

	// minTrustedBytes is the least text, in bytes, of main, article and similar elements to be
	// trusted. minMainBytes is the least main text. With less, all visible text counts.
	minTrustedBytes = 250
	minMainBytes    = 140
	// minProseBytes is the least prose, in bytes, that excludes preformatted text from the prose.
	minProseBytes = 200
)

// mainOf returns the main text of a page, without the furniture that its site repeats on all pages.
// It finds the blocks of the main text by their length, their share of links and the blocks beside
// them. The rules are from Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow
// Text Features" (WSDM 2010, figure 3). The page's elements take precedence. Short blocks between
// two main blocks also count unless they are links: rows of a table, terms of a list.
func (m *builder) mainOf(text string, list []block) (main, headings, prose string) {
	content := classify(text, list)
	within, all := 0, 0
	for i, bl := range list {
		if content[i] && bl.place&inHeading == 0 {
			all += bl.end - bl.start
			if bl.place&inMain != 0 {
				within += bl.end - bl.start
			}
		}
	}
	onlyMain := within >= minTrustedBytes && within*4 >= all
	for i := range list {
		if content[i] = content[i] && (!onlyMain || list[i].place&inMain != 0); content[i] {
			m.markProse(text, &list[i])
		}
	}
	for i, bl := range list {
		if content[i] {
			m.add(text[bl.start:bl.end], bl)
		}
	}
	main = text
	if len(m.main)-len(m.headings) >= minMainBytes {
		main = string(m.main)
	}
	if len(m.prose) < minProseBytes {
		m.prose = addLine(m.prose, string(m.preformatted))
	}
	return cutMain(main), string(m.headings), string(m.prose)
}

// classify reports for each block whether it belongs to the main text.
func classify(text string, list []block) []bool {
	flags, shapes := make([]bool, 2*len(list)), make([]shape, len(list))
	content, after := flags[:len(list)], flags[len(list):]
	for i, bl := range list {
		if bl.place&inHeading == 0 || bl.place&inFrame != 0 {
			size := bl.end - bl.start
			shapes[i] = shape{words: countWords(text[bl.start:bl.end]), density: float64(min(bl.links, size)) / float64(size)}
		}
	}
	var previous shape
	last := -1 // the last main block
	for i, bl := range list {
		switch {
		case bl.place&inFrame != 0:
			previous = shapes[i]
			continue
		case bl.place&inHeading != 0:
			content[i] = true
			continue
		}
		current := shapes[i]
		if current.isContent(previous, nextShape(list[i+1:], shapes[i+1:])) {
			content[i] = true
			if last >= 0 {
				fill(list, content, last+1, i)
			}
			last = i
		}
		previous = current
	}
	spread(list, content, after, shapes)
	return content
}

// spread adds the paragraphs beside main blocks, however short: the one sentence before a table.
// Short blocks between them do not separate them, unless they are links. Blocks before a page's
// first heading are never beside it. A paragraph of links counts only between two main blocks. In a
// main element, all paragraphs count. spread records in after whether a main block follows.
func spread(list []block, content, after []bool, shapes []shape) {
	first, isNear := slices.Index(content, true), false
	for i := len(list) - 1; i >= 0; i-- {
		after[i] = isNear
		content[i] = content[i] || shapes[i].isParagraph(list[i], isNear)
		isNear = content[i] || isNear && shapes[i].isTransparent(list[i])
		if i == first && list[i].place&inHeading != 0 {
			isNear = false
		}
	}
	isNear = false
	for i, bl := range list {
		within := isNear && after[i] && shapes[i].isLinkParagraph(bl)
		content[i] = content[i] || within || shapes[i].isParagraph(bl, isNear)
		isNear = content[i] || isNear && shapes[i].isTransparent(bl)
	}
}

// fill adds the blocks of a gap outside frames, unless most of the gap is links.
func fill(list []block, content []bool, from, to int) {
	links, all := 0, 0
	for i := from; i < to; i++ {
		if list[i].place&inFrame == 0 {
			links += min(list[i].links, list[i].end-list[i].start)
			all += list[i].end - list[i].start
		}
	}
	if links*2 > all {
		return
	}
	for i := from; i < to; i++ {
		content[i] = content[i] || list[i].place&inFrame == 0
	}
}

// builder assembles the main text. Its memory is reused for the next page.
type builder struct {
	main, headings, prose []byte
	// preformatted is prose in preformatted text.
	preformatted []byte
	sample       sample
}

func (m *builder) add(text string, bl block) {
	text = strings.TrimSpace(text)
	m.main = addLine(m.main, text)
	switch {
	case bl.place&inHeading != 0:
		if len(m.headings)+len(text) < maxHeadingsBytes {
			m.headings = addLine(m.headings, text)
		}
	case bl.place&inPre != 0:
		if len(m.preformatted) < maxProseBytes && isProse(text, bl) {
			m.preformatted = addLine(m.preformatted, text)
		}
	case bl.place&inProse != 0:
		m.prose = addLine(m.prose, m.sample.draw(text))
	}
}

func addLine(b []byte, text string) []byte {
	if text == "" {
		return b
	}
	if len(b) > 0 {
		b = append(b, '\n')
	}
	return append(b, text...)
}

type shape struct {
	words   int
	density float64 // the share of links
}

// nextShape returns the shape of the next block other than a heading.
func nextShape(rest []block, shapes []shape) shape {
	for i := range rest[:min(len(rest), 3)] {
		if rest[i].place&inHeading == 0 {
			return shapes[i]
		}
	}
	return shape{}
}

// isContent reports whether a block between two others belongs to the main text.
func (s shape) isContent(previous, next shape) bool {
	switch {
	case s.density > 1./3:
		return false
	case previous.density <= 5./9:
		return s.words > 16 || next.words > 15 || previous.words > 4
	default:
		return s.words > 40 || next.words > 17
	}
}

// isParagraph reports whether a block is a paragraph of the main text. isNear means beside a main
// block.
func (s shape) isParagraph(bl block, isNear bool) bool {
	return s.isLinkParagraph(bl) && (bl.place&inMain != 0 || isNear && s.density <= 1./2)
}

// isLinkParagraph is like paragraph, but also accepts paragraphs of links.
func (s shape) isLinkParagraph(bl block) bool {
	const minWords = 4
	return bl.place&inParagraph != 0 && bl.place&inFrame == 0 && s.words >= minWords
}

// isTransparent reports whether a block does not separate its neighbours.
func (s shape) isTransparent(bl block) bool {
	return bl.place&inFrame == 0 && (s.density <= 1./3 || bl.place&inParagraph != 0)
}

func cutMain(text string) string {
	if len(text) <= MaxMainRunes {
		return text
	}
	n := 0
	for i := range text {
		if n++; n > MaxMainRunes {
			return text[:i]
		}
	}
	return text
}

// Plain reads a document of media type text/plain in UTF-8. Its paragraphs are blocks.
func Plain(body []byte, limits Limits) Page {
	limits = limits.WithDefaults()
	c := newCollector(limits)
	defer c.release()
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n") {
		c.text.add(paragraph)
		c.text.separate()
		c.blocks.flush(len(c.text.text))
		if c.text.done() {
			break
		}
	}
	return c.textPage()
}
