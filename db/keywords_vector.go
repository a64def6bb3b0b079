package db

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// What a tsvector of Postgres holds: MAXENTRYPOS and MAXNUMPOS of its ts_type.h.
const (
	positionMost  = 1<<14 - 1
	positionsMost = 1<<8 - 1
)

// weights are those of the zones of a document.
var weights = [...]pgtype.TSVectorWeight{
	pgtype.TSVectorWeightA, pgtype.TSVectorWeightB, pgtype.TSVectorWeightC, pgtype.TSVectorWeightD,
}

// zonesOf are the terms of a page by zone.
func zonesOf(w dbsqlc.KeywordsTakeRow) [len(weights)]string {
	return [...]string{w.Title, w.Headings, w.Description, w.Body}
}

// readTerms is a document that a lexicon has read.
type readTerms struct {
	zones     [len(weights)][]*termEntry
	different int // terms, about
}

// vector is what a page is found by: what to_tsvector makes of the terms of each zone, with
// the zone's weight, one after the other.
func (l *lexicon) vector(t readTerms) pgtype.TSVector {
	l.serial++
	v := vectorMaker{serial: l.serial, lexemes: make([]pgtype.TSVectorLexeme, 0, t.different)}
	base := 0
	for i, zone := range t.zones {
		place, last := base, base
		for _, e := range zone {
			if e == nil {
				continue
			}
			for _, p := range e.lexemes {
				last = v.add(p.lexeme, place+p.place, weights[i])
			}
			place += e.places
		}
		base = last
	}
	return pgtype.TSVector{Lexemes: v.lexemes, Valid: true}
}

// vectorMaker is a tsvector in the making.
type vectorMaker struct {
	serial  int
	lexemes []pgtype.TSVectorLexeme
	room    []pgtype.TSVectorPosition
}

// add adds a lexeme and returns its place.
func (v *vectorMaker) add(w *lexeme, place int, weight pgtype.TSVectorWeight) int {
	place = min(place, positionMost)
	at := pgtype.TSVectorPosition{Position: uint16(place), Weight: weight} //nolint:gosec // at most positionMost
	if w.serial != v.serial {
		w.serial, w.index = v.serial, len(v.lexemes)
		v.lexemes = append(v.lexemes, pgtype.TSVectorLexeme{Word: w.text, Positions: v.first(at)})
		return place
	}
	list := &v.lexemes[w.index].Positions
	if len(*list) < positionsMost && (*list)[len(*list)-1].Position < at.Position {
		*list = append(*list, at)
	}
	return place
}

// first is a list with one position. Most lexemes have no other, so that they share memory.
func (v *vectorMaker) first(at pgtype.TSVectorPosition) []pgtype.TSVectorPosition {
	const together = 256
	if len(v.room) == cap(v.room) {
		v.room = make([]pgtype.TSVectorPosition, 0, together)
	}
	n := len(v.room)
	v.room = append(v.room, at)
	return v.room[n : n+1 : n+1]
}
