package language

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

const (
	// secondPartDivisor is the divisor of the least share of a second language in a text.
	secondPartDivisor = 5
	// separatePartDivisor is the divisor of the least share of a part that is separated from the
	// largest.
	separatePartDivisor = 20
	// maxParagraphs caps the paragraphs. The rest of a text belongs to the last one.
	maxParagraphs = 256
	// scriptBytes is the length of the sample that decides a paragraph's script.
	scriptBytes = 200
	// minCandidatePercent is the least number of frequent words of a candidate language in a
	// paragraph, in percent of the most likely language's number.
	minCandidatePercent = 75
)

type paragraph struct {
	text   string
	weight int // letters, counted as for minLetters
	script string
	// langs has a bit for each candidate language in ranked, or none without frequent words.
	langs uint64
}

// part is the paragraphs of a text in one language, or in one script and an unknown language.
type part struct {
	weight int
	lang   uint64 // a bit; 0 means unknown
	script string
}

// has reports whether a paragraph belongs to a part.
func (p part) has(q paragraph) bool {
	return p.lang&q.langs != 0 || p.lang == 0 && q.langs == 0 && p.script == q.script
}

type division struct {
	list        []paragraph
	totalWeight int // weight
	// hits counts the frequent words of each language in its candidate paragraphs.
	hits [maxRanked]int
}

// divisions are reused for later texts.
var divisions = sync.Pool{New: func() any { return new(division) }}

// divide looks up the frequent words of each paragraph.
func (d *division) divide(prose string) {
	for prose != "" && len(d.list) < maxParagraphs {
		text, rest := prose, ""
		if len(d.list) < maxParagraphs-1 {
			text, rest, _ = strings.Cut(prose, "\n")
		}
		prose = rest
		d.add(text)
	}
}

func (d *division) add(text string) {
	read := runs{text: text}
	count := 0
	var has [maxRanked]uint16
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
	maxHits := int(slices.Max(has[:]))
	if maxHits > 1 && maxHits*100 >= count*declaredEvidence.minShare {
		for i, n := range has {
			if int(n)*100 >= maxHits*minCandidatePercent {
				p.langs |= 1 << i
				d.hits[i] += int(n)
			}
		}
	}
	d.totalWeight += p.weight
	d.list = append(d.list, p)
}

// largest returns the largest part of the paragraphs outside the excluded parts.
func (d *division) largest(excluded ...part) (best part) {
	var weights [maxRanked]int
	unknown := map[string]int{}
	for _, p := range d.list {
		if slices.ContainsFunc(excluded, func(q part) bool { return q.has(p) }) {
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

// main returns the largest part. Paragraphs without frequent words are mostly names and terms of
// the surrounding language. They count as another language only if they are by far the largest
// part.
func (d *division) main() part {
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

func (d *division) scriptOf(of part) string {
	if i := slices.IndexFunc(d.list, of.has); i >= 0 {
		return d.list[i].script
	}
	return ""
}

func (d *division) text(of part) string {
	var b strings.Builder
	for _, p := range d.list {
		if of.has(p) {
			b.WriteString(p.text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
