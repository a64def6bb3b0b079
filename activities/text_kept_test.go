package activities_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/dbtest"
)

// ishmael is the beginning of Melville's "Moby-Dick" (1851).
const ishmael = `Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and
nothing particular to interest me on shore, I thought I would sail about a little and see the watery part of the world. It
is a way I have of driving off the spleen and regulating the circulation. Whenever I find myself growing grim about the
mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself involuntarily pausing before coffin
warehouses, and bringing up the rear of every funeral I meet; and especially whenever my hypos get such an upper hand of
me, that it requires a strong moral principle to prevent me from deliberately stepping into the street, and methodically
knocking people's hats off, then, I account it high time to get to sea as soon as I can. This is my substitute for pistol
and ball. With a philosophical flourish Cato throws himself upon his sword; I quietly take to the ship. There is nothing
surprising in this. If they but knew it, almost all men in their degree, some time or other, cherish very nearly the same
feelings towards the ocean with me.`

// No table allows a page's text to be put together again, neither before indexing nor afterwards.
func TestNoTextIsKept(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"English": ishmael,
		// without a stemmer and stop words of its own
		"Polish": `Nazywajcie mnie Ismael. Kilka lat temu, mniejsza o to jak dawno, mając mało pieniędzy w sakiewce i nic
			szczególnego, co by mnie na lądzie zajmowało, pomyślałem, że pożegluję trochę i obejrzę wodną część świata. Jest to
			sposób, w jaki odpędzam chandrę i poprawiam krążenie krwi. Ilekroć czuję, że usta wykrzywia mi posępny grymas, ilekroć
			w duszy mam wilgotny, dżdżysty listopad, ilekroć przystaję bezwiednie przed składami trumien, uznaję, że czas już na morze.`,
		"Short": `The keeper of the old lighthouse climbs the winding stairs every evening, trims the wick, lights his lamp and
			writes the weather of that day into a book which nobody has asked him for in thirty years.`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": page{body: "<p>" + text + "</p>"}})})
			b.seed(t, "/")
			b.follow(t)
			b.requireNoText(t, text)
			dbtest.WriteKeywords(t, b.store)
			b.requireNoText(t, text)
		})
	}
}

// requireNoText reads all tables as somebody would who looks for a text: some words that follow
// each other, or which words may follow which.
func (b *testBundle) requireNoText(t *testing.T, text string) {
	t.Helper()
	const run = 4 // words in a row: a table may have three of them by accident
	words, _ := terms.Split(text, 10_000)
	tables, err := pgx.CollectRows(queryAll(t, b, "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"), pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 30)
	for _, table := range tables {
		rows, err := pgx.CollectRows(queryAll(t, b, "SELECT x::text FROM "+table+" AS x"), pgx.RowTo[string])
		require.NoError(t, err)
		for _, row := range rows {
			kept, _ := terms.Split(row, 1_000_000)
			all := " " + joinTerms(kept) + " "
			for i := range len(words) - run {
				require.NotContains(t, all, " "+joinTerms(words[i:i+run])+" ", "in %s", table)
			}
		}
	}

	// whoever knows how the index is made guesses the word before each word
	var body string
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "SELECT body FROM page_keywords").Scan(&body))
	counts, before, width := map[string]int{}, map[string]map[uint8]bool{}, 0
	for item := range strings.FieldsSeq(body) {
		part := strings.SplitN(item, ":", 3)
		if len(part) < 3 {
			continue // "peoples", beside "people s"
		}
		counts[part[0]], err = strconv.Atoi(part[1])
		require.NoError(t, err)
		before[part[0]] = map[uint8]bool{}
		width = int(part[2][0]-'a') + 1
		for digits := range slices.Chunk([]byte(part[2][1:]), 2) {
			n, err := strconv.ParseUint(string(digits), 16, 8)
			require.NoError(t, err)
			before[part[0]][uint8(n)] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
	mask := uint8(1<<width - 1)
	right, candidates, guesses := 0, 0, 0
	for i, w := range words[1:] {
		guess, possible := "", 0
		for _, x := range all {
			if x != w.Term && before[w.Term][crawl.BucketOf(x)&mask] {
				if possible++; guess == "" {
					guess = x // the most frequent one
				}
			}
		}
		guesses, candidates = guesses+1, candidates+possible
		if guess == words[i].Term {
			right++
		}
	}
	t.Logf("%d words, %d different, %d bits: %.1f may precede a word, %.0f %% are guessed", len(words), len(all), width,
		float64(candidates)/float64(guesses), 100*float64(right)/float64(guesses))
	require.Greater(t, candidates, 8*guesses, "words that may precede a word")
	require.Less(t, right, guesses/3)
}

func joinTerms(list []terms.PlacedTerm) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = w.Term
	}
	return strings.Join(words, " ")
}

func queryAll(t *testing.T, b *testBundle, sql string) pgx.Rows {
	t.Helper()
	rows, err := b.store.Pool().Query(t.Context(), sql)
	require.NoError(t, err, sql)
	return rows
}
