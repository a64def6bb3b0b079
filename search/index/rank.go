package index

// weights are the weights of a score, chosen on the judged queries of test/search.
var weights = struct {
	// BM25 on the main text (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
	// and Beyond", 2009).
	k1, b float32
	// the bonus of a word in another text of the page, in units of its idf
	title, heading, description, address, anchored float32
	// the number of terms in an ordinary title; words of shorter titles get a larger bonus
	titleTerms float32
	// the bonus of a title equal to the query, and of adjacent words
	whole, near float32
	// a page's worth multiplies its score by 1 to 1 + worth
	worth float32
	// the factor of pages in other languages than the query's
	otherLanguage float32
}{
	k1: 2, b: 0.4,
	title: 0.85, heading: 0.45, description: 1.05, address: 0.9, anchored: 0.6, titleTerms: 6,
	whole: 1.2, near: 1,
	worth: 2, otherLanguage: 0.8,
}

// length holds the lengths of a page's texts.
type length struct {
	text  float32 // relative to the average
	title float32 // terms
}

// score returns the contribution of a word to the score of a page.
func (m mark) score(l length) float32 {
	w := &weights
	s := float32(0)
	if count := float32(m.count); count > 0 {
		s = count * (w.k1 + 1) / (count + w.k1*(1-w.b+w.b*l.text))
	}
	if m.fields&inTitle != 0 {
		s += w.title * 2 / (1 + l.title/w.titleTerms)
	}
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

type scored struct {
	pages   []uint32
	scores  []float32
	factors []float32 // factor of each score
}

// score scores pages by their clauses.
func score(pages []uint32, clauses [][]mark, lengths []length, factors []float32) scored {
	out := scored{pages: pages, scores: make([]float32, len(pages)), factors: factors}
	for i := range pages {
		total, sum, titled, terms := float32(0), float32(0), float32(0), float32(0)
		for _, marks := range clauses {
			m := marks[i]
			total += m.weight
			sum += m.score(lengths[i])
			if m.fields&inTitle != 0 {
				titled += m.weight
				terms += float32(m.terms)
			}
		}
		if titled > 0 {
			share, cover := titled/total, min(1, terms/lengths[i].title)
			sum += weights.whole * share * share * cover * total
		}
		out.scores[i] = sum * factors[i]
	}
	return out
}
