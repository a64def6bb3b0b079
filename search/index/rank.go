package index

// weights are how a page is scored. They were chosen on the judged queries of test/search,
// beside Xapian.
var weights = struct {
	// BM25 on the main text (Robertson and Zaragoza, "The Probabilistic Relevance
	// Framework: BM25 and Beyond", 2009).
	k1, b float32
	// what a word adds that is in another text of the page, in units of its idf; in a
	// title by how short that is
	title                                   [4]float32
	heading, description, address, anchored float32
	// what all words in the title add, by how short it is, and words beside each other
	whole [4]float32
	near  float32
	// how much worth multiplies a score: from 1 to 1 + worth
	worth float32
	// pages in other languages than the query's
	otherLanguage float32
	// how much the best of its words adds to an alternative, in clauses of several
}{
	k1: 1.2, b: 0.6,
	title:   [4]float32{0, 0.7, 0.9, 1.1},
	heading: 0.45, description: 0.3, address: 0.35, anchored: 0.6,
	whole: [4]float32{0, 0.25, 0.5, 0.9},
	near:  0.35,
	worth: 2, otherLanguage: 0.6,
}

// score is what a word adds to the score of a page whose main text has so many words,
// compared with the average.
func (m mark) score(length float32) float32 {
	w := &weights
	s := float32(0)
	if m.count > 0 {
		s = m.count * (w.k1 + 1) / (m.count + w.k1*(1-w.b+w.b*length))
	}
	s += w.title[m.fields.title()]
	if m.fields&inHeading != 0 {
		s += w.heading
	}
	if m.fields&inDescription != 0 {
		s += w.description
	}
	if m.fields&inAddress != 0 {
		s += w.address
	}
	if m.fields&inAnchor != 0 {
		s += w.anchored
	}
	return s * m.weight
}

// scored are pages with their scores.
type scored struct {
	pages   []uint32
	scores  []float32
	factors []float32 // by which each score was multiplied
}

// score scores pages by their clauses. factors multiply the scores, lengths are those of the main texts.
func score(pages []uint32, clauses [][]mark, lengths, factors []float32) scored {
	out := scored{pages: pages, scores: make([]float32, len(pages)), factors: factors}
	for i := range pages {
		total, sum, titled := float32(0), float32(0), float32(0)
		class := 0
		for _, marks := range clauses {
			m := marks[i]
			total += m.weight
			sum += m.score(lengths[i])
			if t := m.fields.title(); t > 0 {
				titled += m.weight
				class = max(class, t)
			}
		}
		if total > 0 {
			share := titled / total
			sum += weights.whole[class] * share * share * total
		}
		out.scores[i] = sum * factors[i]
	}
	return out
}
