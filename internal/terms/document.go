package terms

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// What a tsvector of Postgres holds: MAXENTRYPOS, MAXNUMPOS and MAXSTRPOS of its ts_type.h.
const (
	sizeMost      = 1<<20 - 1
	positionMost  = 1<<14 - 1
	positionsMost = 1<<8 - 1
)

// Document is the terms of a page, as crawl.Index has them.
type Document struct {
	Config                             string
	Title, Headings, Description, Text string
}

// weights are those of the zones of a document.
var weights = [...]pgtype.TSVectorWeight{
	pgtype.TSVectorWeightA, pgtype.TSVectorWeightB, pgtype.TSVectorWeightC, pgtype.TSVectorWeightD,
}

func (d Document) zones() [len(weights)]string {
	return [...]string{d.Title, d.Headings, d.Description, d.Text}
}

// Vector is what a page is found by: what the function keywords of the database makes of the
// same terms. What the lexicon does not know is left out: see Lexicon.Missing.
func (l *Lexicon) Vector(d Document) pgtype.TSVector {
	v := vector{of: make(map[string]int, 256)}
	base := 0
	for i, zone := range d.zones() {
		place, last := base, base
		for term := range strings.SplitSeq(zone, " ") {
			if term == "" {
				continue
			}
			x, _ := l.find(d.Config, term)
			if x.one != "" {
				last = v.add(x.one, place+1, weights[i])
			}
			for _, p := range x.more {
				last = v.add(p.word, place+p.place, weights[i])
			}
			place += x.places
		}
		base = last
	}
	return pgtype.TSVector{Lexemes: v.lexemes, Valid: true}
}

// vector is a tsvector in the making.
type vector struct {
	of      map[string]int // the place of a lexeme in lexemes
	lexemes []pgtype.TSVectorLexeme
	size    int // in bytes, at most
}

// lexemeOverhead is what a lexeme takes beside its bytes, and positionSize what a position
// does, in bytes.
const (
	lexemeOverhead = 4
	positionSize   = 2
)

// add adds a lexeme, unless the tsvector is full, and returns where it has been added.
func (v *vector) add(word string, place int, weight pgtype.TSVectorWeight) int {
	place = min(place, positionMost)
	if v.size+len(word)+lexemeOverhead+positionSize > sizeMost {
		return place
	}
	at := pgtype.TSVectorPosition{Position: uint16(place), Weight: weight} //nolint:gosec // at most positionMost
	i, known := v.of[word]
	if !known {
		v.of[word] = len(v.lexemes)
		v.size += len(word) + lexemeOverhead + positionSize
		v.lexemes = append(v.lexemes, pgtype.TSVectorLexeme{Word: word, Positions: []pgtype.TSVectorPosition{at}})
		return place
	}
	list := &v.lexemes[i].Positions
	if len(*list) < positionsMost && (*list)[len(*list)-1].Position < at.Position {
		*list = append(*list, at)
		v.size += positionSize
	}
	return place
}
