package language

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

const (
	// partShare is the share of a text, one in so many, from which on another language of it
	// is named.
	partShare = 5
	// partsLeast is the share from which on a part in another language is left out when the
	// largest is looked at.
	partsLeast = 20
	// paragraphsMost is how many paragraphs are told apart; what follows belongs to the last.
	paragraphsMost = 256
	// scriptBytes is how much of a paragraph shows its script.
	scriptBytes = 200
	// nearly is how many frequent words a language has of a paragraph, in percent of those
	// that the most likely one has, if it may be the paragraph's.
	nearly = 75
)

// paragraph is a line of a text.
type paragraph struct {
	text   string
	weight int // letters, as lettersLeast counts them
	script string
	// langs are the languages of ranked that it may be in, as bits; none if its words are
	// frequent in none.
	langs uint64
}

// part is the paragraphs of a text that are in one language, or in one script and unknown.
type part struct {
	weight int
	lang   uint64 // a bit, or 0 for those that are unknown
	script string
}

// has reports whether a paragraph is one of a part.
func (p part) has(q paragraph) bool {
	return p.lang&q.langs != 0 || p.lang == 0 && q.langs == 0 && p.script == q.script
}

type divided struct {
	list []paragraph
	all  int // weight
	// hits are the frequent words of each language in the paragraphs that may be in it.
	hits [rankedMost]int
}

// divisions are kept for the next texts.
var divisions = sync.Pool{New: func() any { return new(divided) }}

func (d *divided) release() {
	clear(d.list) // they hold on to the text
	*d = divided{list: d.list[:0]}
	divisions.Put(d)
}

// divide looks at the frequent words of each paragraph.
func (d *divided) divide(prose string) {
	for prose != "" && len(d.list) < paragraphsMost {
		text, rest := prose, ""
		if len(d.list) < paragraphsMost-1 {
			text, rest, _ = strings.Cut(prose, "\n")
		}
		prose = rest
		d.add(text)
	}
}

func (d *divided) add(text string) {
	read := runs{text: text}
	count := 0
	var has [rankedMost]uint16
	for word := read.next(); len(word) > 0; word = read.next() {
		count++
		for of := frequentWords().owners[string(word)]; of != 0; of &= of - 1 {
			has[bits.TrailingZeros64(of)]++
		}
	}
	p := paragraph{text: text, weight: read.ascii + read.other, script: "Latn"}
	if read.other > read.ascii {
		s := scriptsOf(text[:min(len(text), scriptBytes)])
		if p.script = s.main; s.main == "Hani" || s.main == "Kana" || s.main == "Hang" {
			p.weight *= ideographWeight
		}
	}
	most := int(slices.Max(has[:]))
	if most > 1 && most*100 >= count*confirmed.share {
		for i, n := range has {
			if int(n)*100 >= most*nearly {
				p.langs |= 1 << i
				d.hits[i] += int(n)
			}
		}
	}
	d.all += p.weight
	d.list = append(d.list, p)
}

// largest is the largest part of the paragraphs that are not in parts already.
func (d *divided) largest(taken ...part) (best part) {
	var weights [rankedMost]int
	unknown := map[string]int{}
	for _, p := range d.list {
		if slices.ContainsFunc(taken, func(q part) bool { return q.has(p) }) {
			continue
		}
		if p.langs == 0 {
			unknown[p.script] += p.weight
		}
		for of := p.langs; of != 0; of &= of - 1 {
			weights[bits.TrailingZeros64(of)] += p.weight
		}
	}
	at := -1
	for i, w := range weights {
		if w > best.weight || w > 0 && w == best.weight && d.hits[i] > d.hits[at] {
			best, at = part{weight: w, lang: 1 << i}, i
		}
	}
	for script, w := range unknown {
		if w > best.weight || w == best.weight && best.lang == 0 && script < best.script {
			best = part{weight: w, script: script}
		}
	}
	return best
}

// main is the largest part. Paragraphs without frequent words are mostly names and terms of
// the language around them: they are only taken for another one where they are by far the
// most.
func (d *divided) main() part {
	const times = 2
	largest := d.largest()
	if largest.lang != 0 {
		return largest
	}
	if known := d.largest(largest); known.lang != 0 && known.weight*times >= largest.weight && d.scriptOf(known) == largest.script {
		return known
	}
	return largest
}

func (d *divided) scriptOf(of part) string {
	if i := slices.IndexFunc(d.list, of.has); i >= 0 {
		return d.list[i].script
	}
	return ""
}

func (d *divided) text(of part) string {
	var b strings.Builder
	for _, p := range d.list {
		if of.has(p) {
			b.WriteString(p.text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
