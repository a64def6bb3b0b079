package search_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// library is a database with pages.
type library struct {
	*search.Searcher

	store *db.Store
	run   crawl.Run
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	store := dbtest.New(t)
	run, err := store.EnsureRun(t.Context(), "library", "test", settings.Settings{})
	require.NoError(t, err)
	return &library{Searcher: search.New(store), store: store, run: run}
}

// page holds the stored properties of a crawled page.
type page struct {
	url       string
	language  string
	title     string
	text      string
	headings  string // a line for each
	signals   crawl.Signals
	content   byte  // of the content hash; 0 means none
	simhash   int64 // 0 means none
	noindex   bool
	usage     string
	noArchive bool
}

// long is a text with 70 further words: of a short one the index tells less which word precedes
// which.
func long(text string) string {
	var b strings.Builder
	b.WriteString(text)
	for i := range 70 {
		fmt.Fprintf(&b, " w%d", i)
	}
	return b.String()
}

// add records pages, as if they had just been fetched.
func (l *library) add(t *testing.T, pages ...page) {
	t.Helper()
	for _, p := range pages {
		u, err := urls.Parse(p.url)
		require.NoError(t, err)
		_, err = l.store.AddSeeds(t.Context(), l.run.ID, []urls.URL{u})
		require.NoError(t, err)
		facts, err := l.store.Facts(t.Context(), u.Domain())
		require.NoError(t, err)
		c := facts.Runs[0].Attempt
		require.NotNil(t, c)
		lease, err := l.store.Begin(t.Context(), crawl.Start{
			AttemptID: c.ID, RunID: l.run.ID, Domain: u.Domain(), Origin: c.Origin, URL: c.URL, Kind: c.Kind,
			Shared: []crawl.SharedSlot{}, SlotHold: crawl.Millis(time.Minute), MaxDuration: crawl.Millis(time.Second), ClaimDuration: crawl.Millis(time.Minute),
		})
		require.NoError(t, err)
		require.True(t, lease.Granted, "%+v", lease)
		p.signals.Title = p.title
		visit := &crawl.VisitUpdate{}
		if p.content != 0 {
			visit.Content = crawl.ContentHash{p.content}
		}
		at := crawl.Attempt{
			ID: c.ID, Domain: u.Domain(), Requested: true, Reached: true, EndedAt: time.Now(), Outcome: crawl.OutcomeSuccess,
			StatusCode: 200, Reason: reasons.Delay,
			Page: &crawl.PageUpdate{
				Visit: visit, Signals: &p.signals, Language: p.language, Extractor: crawl.ExtractorVersion, NoIndex: p.noindex,
				Usage: []byte(p.usage),
			},
			Index: terms.Index(terms.Page{
				Language: p.language, Title: p.title, Headings: p.headings, Description: p.signals.Description, Text: p.text, URL: p.url,
				NoArchive: p.noArchive,
			}),
		}
		if p.simhash != 0 {
			at.Page.SimHash = &p.simhash
		}
		recorded, err := l.store.Record(t.Context(), at)
		require.NoError(t, err)
		require.True(t, recorded.Closed)
	}
	dbtest.WriteKeywords(t, l.store)
}

// urls returns the URLs that a query finds, in the order of the results.
func (l *library) urls(t *testing.T, q search.Query) []string {
	t.Helper()
	results, err := l.Search(t.Context(), q)
	require.NoError(t, err)
	found := make([]string, len(results))
	for i, r := range results {
		found[i] = strings.TrimPrefix(r.URL, "https://")
	}
	return found
}

func TestSearchLanguagesAndOperators(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://en.example/", language: "en", title: "Lighthouses", text: long("The keepers were lighting the lamps. A durable politeness.")},
		page{url: "https://de.example/", language: "de-AT", title: "Leuchttürme", text: "Die Wärter zünden die Lampen an. Straßen und Häuser."},
		page{url: "https://fr.example/", language: "fr", title: "Phares", text: "Les gardiens allument les lampes à l'été."},
		page{url: "https://pl.example/", language: "pl", title: "Latarnie", text: "Latarnik zapala lampy w Łodzi."},
		page{url: "https://ja.example/", language: "ja", title: "灯台", text: "東京都の灯台守は猫を飼っている。"},
		page{url: "https://zh.example/", language: "zh-Hant", title: "燈塔", text: "我們的圖書館早上九點開門。"},
		page{url: "https://th.example/", language: "th", title: "ประภาคาร", text: "ห้องสมุดในหมู่บ้านของเราเปิดเวลาเก้าโมงเช้า"},
		page{url: "https://ko.example/", language: "ko", title: "등대", text: "우리 마을 도서관은 아침에 문을 엽니다."},
		page{url: "https://ru.example/", language: "ru", title: "Маяки", text: "Смотритель зажигает лампы, ещё тёплые."},
		page{url: "https://none.example/", title: "x := y", text: "fmt.Println(durable)"},
	)
	for query, want := range map[string][]string{
		"lighthouse":             {"en.example/"},
		"keeper lights LAMP":     {"en.example/"},
		`"durable politeness"`:   {"en.example/"},
		`"politeness durable"`:   {},
		"durable":                {"en.example/", "none.example/"},
		"durable -politeness":    {"none.example/"},
		"lighthouse or phare":    {"en.example/", "fr.example/"},
		"Haus":                   {"de.example/"},
		"strassen":               {"de.example/"},
		"leuchtturm":             {"de.example/"},
		"ete":                    {"fr.example/"},
		"lodzi":                  {"pl.example/"},
		"東京":                     {"ja.example/"},
		"東京都":                    {"ja.example/"},
		"京東":                     {},
		"猫":                      {"ja.example/"},
		"圖書館":                    {"zh.example/"},
		"ห้องสมุด":               {"th.example/"},
		"도서관":                    {"ko.example/"},
		"еще лампа":              {"ru.example/"},
		"fmt.Println":            {"none.example/"},
		"lamp -keeper":           {"de.example/", "fr.example/"},
		"nothing of the kind":    {},
		"'; DROP TABLE pages;--": {},
		"lamp' | 'x:* & !(":      {},
	} {
		require.ElementsMatch(t, want, l.urls(t, search.Query{Text: query}), query)
	}
	require.Equal(t, []string{"de.example/"}, l.urls(t, search.Query{Text: "lampen", Language: "de"}))
	require.Empty(t, l.urls(t, search.Query{Text: "lampen", Language: "de-CH"}))
	require.Equal(t, []string{"zh.example/"}, l.urls(t, search.Query{Text: "圖書館", Language: "zh"}))
	require.Equal(t, []string{"zh.example/"}, l.urls(t, search.Query{Text: "圖書館", Language: "zh-TW"}))
	require.Empty(t, l.urls(t, search.Query{Text: "圖書館", Language: "zh-CN"}))
	require.Equal(t, []string{"none.example/"}, l.urls(t, search.Query{Text: "durable", Domain: "www.none.example"}))
}

// The worst that a page can say is recorded all the same.
func TestSearchFindsTheLongestPage(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	var text strings.Builder
	for i := range 20_000 { // forty letters of four bytes each
		text.WriteString(strings.Repeat("𐐨", 30) + strings.Map(func(r rune) rune { return '𐐨' + r - '0' }, fmt.Sprintf("%010d", i)) + " ")
	}
	l.add(t, page{url: "https://long.example/", title: "Long", text: text.String()})
	require.Equal(t, []string{"long.example/"}, l.urls(t, search.Query{Text: "long"}))
}

func TestSearchOrder(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	filler := strings.Repeat("other words that are about something else ", 20)
	l.add(
		t,
		page{url: "https://text.example/", language: "en", title: "Another", text: "politeness " + filler},
		page{url: "https://title.example/", language: "en", title: "Politeness", text: filler},
		page{url: "https://description.example/", language: "en", title: "Another", text: filler, signals: crawl.Signals{Description: "On politeness"}},
	)
	require.Equal(t, []string{"title.example/", "description.example/", "text.example/"}, l.urls(t, search.Query{Text: "politeness"}))
	_, err := l.store.Pool().Exec(t.Context(), `WITH d AS (INSERT INTO domain_ranks VALUES ('description.example', 9, 1))
		INSERT INTO page_ranks SELECT id, 9, 1 FROM pages WHERE domain = 'description.example'`)
	require.NoError(t, err)
	_, _, err = l.store.UpdateSegmentScores(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, "description.example/", l.urls(t, search.Query{Text: "politeness"})[0], "a page that is worth more")
}

// The titles of two languages can differ by an accent alone.
func TestSearchTitleAsTyped(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://es.example/", language: "es", title: "Cómo migrar", text: "Un servidor con cuidado."},
		page{url: "https://pt.example/", language: "pt", title: "Como migrar", text: "Um servidor com cuidado."},
	)
	require.Equal(t, []string{"es.example/", "pt.example/"}, l.urls(t, search.Query{Text: "cómo migrar"}))
	require.Equal(t, []string{"pt.example/", "es.example/"}, l.urls(t, search.Query{Text: "Como Migrar"}))
}

func TestSearchLeavesOut(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	for i := range 4 {
		l.add(t, page{url: fmt.Sprintf("https://many.example/%d", i), language: "en", title: "Harbour", text: "harbour"})
	}
	l.add(
		t,
		page{url: "https://a.example/", language: "en", title: "Harbour", text: "one", content: 7},
		page{url: "https://b.example/", language: "en", title: "Harbour", text: "two", content: 7},
		page{url: "https://c.example/", language: "en", title: "Harbour", text: "three", simhash: 0b1111},
		page{url: "https://d.example/", language: "en", title: "Harbour", text: "four", simhash: 0b1001},
		page{url: "https://e.example/", language: "en", title: "Harbour", text: "five", simhash: -1},
		page{url: "https://f.example/", language: "en", title: "Harbour", text: "six", signals: crawl.Signals{Canonical: "https://e.example/"}},
		page{url: "https://www.e.example/copy", language: "en", title: "Harbour", text: "seven", signals: crawl.Signals{Canonical: "https://e.example/"}},
		page{url: "https://hidden.example/", language: "en", title: "Harbour", noindex: true},
		page{url: "https://past.example/", language: "en", title: "Harbour", usage: `{"unavailable_after":"2020-01-01T00:00:00Z"}`},
		page{url: "https://reserved.example/", language: "en", title: "Harbour", usage: `{"content_signals":{"search":{"answer":"no","by":"x"}}}`},
	)
	found := l.urls(t, search.Query{Text: "harbour", Limit: 100})
	require.Len(t, found, 6, "%q", found)
	domains := map[string]int{}
	for _, u := range found {
		domain, _, _ := strings.Cut(u, "/")
		domains[domain]++
	}
	require.Equal(t, 2, domains["many.example"], "two of a domain: %q", found)
	require.Equal(t, 1, domains["a.example"]+domains["b.example"], "one of the same content: %q", found)
	require.Equal(t, 1, domains["c.example"]+domains["d.example"], "one of near-duplicates: %q", found)
	require.Equal(t, 1, domains["e.example"]+domains["www.e.example"], "one of a page and its copy: %q", found)
	require.Contains(t, found, "e.example/", "the original")
	require.Contains(t, found, "f.example/", "another site's page is not believed to be a copy")

	require.Equal(t, found[2:4], l.urls(t, search.Query{Text: "harbour", Limit: 2, Offset: 2}), "pages of results")
	require.Len(t, l.urls(t, search.Query{Text: "harbour", All: true, Limit: 100}), 11, "what was left out can be asked for")
	require.Len(t, l.urls(t, search.Query{Text: "harbour", Domain: "many.example"}), 4, "all of the domain that is asked for")
}

func TestSearchByDate(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	l.add(
		t,
		page{url: "https://old.example/", language: "en", title: "Harbour", signals: crawl.Signals{Published: day.AddDate(-1, 0, 0)}},
		page{url: "https://new.example/", language: "en", title: "Harbour", signals: crawl.Signals{Published: day}},
		page{url: "https://undated.example/", language: "en", title: "Harbour"},
	)
	require.ElementsMatch(t, []string{"new.example/", "undated.example/"}, l.urls(t, search.Query{Text: "harbour", Since: day}))
	require.Len(t, l.urls(t, search.Query{Text: "harbour"}), 3)
	require.Equal(t, []string{"undated.example/", "new.example/", "old.example/"}, l.urls(t, search.Query{Text: "harbour", Fresh: true}))
}

func TestSearchPrefersALanguage(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(
		t,
		page{url: "https://en.example/", language: "en", title: "Information"},
		page{url: "https://de.example/", language: "de", title: "Information"},
		page{url: "https://fr.example/", language: "fr-CA", title: "Information"},
	)
	for _, tag := range []string{"en", "de", "fr"} {
		require.Equal(t, tag+".example/", l.urls(t, search.Query{Text: "information", Prefer: tag})[0])
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	for why, q := range map[string]search.Query{
		"no word":                         {Text: " ?! "},
		"nothing":                         {},
		"only what must not be there":     {Text: "-harbour"},
		"a query of 1001 bytes":           {Text: strings.Repeat("x", 1001)},
		"a limit of 101":                  {Text: "x", Limit: 101},
		"an offset of -1":                 {Text: "x", Offset: -1},
		`language "englisch und deutsch"`: {Text: "x", Language: "englisch und deutsch"},
		"a domain that is none":           {Text: "x", Domain: "not a domain"},
	} {
		_, err := l.Search(t.Context(), q)
		require.Error(t, err, why)
		if q.Domain == "" {
			require.ErrorIs(t, err, crawl.ErrInvalid, why)
		}
	}
}

// Pieces marks the words of a query in a result, and their likely forms.
func TestPieces(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.add(t, page{url: "https://a.example/", language: "en", title: "Libraries of the city – a Library guide", text: "libraries library"})
	a, err := l.Find(t.Context(), search.Query{Text: "library"})
	require.NoError(t, err)
	require.Len(t, a.Results, 1)
	marked := func(text string) (words []string) {
		var whole strings.Builder
		for _, p := range a.Pieces(text) {
			whole.WriteString(p.Text)
			if p.Matched {
				words = append(words, p.Text)
			}
		}
		require.Equal(t, text, whole.String())
		return words
	}
	require.Equal(t, []string{"Libraries", "Library"}, marked(a.Results[0].Title))
	require.Equal(t, []string{"LIBRARY"}, marked("(LIBRARY) liberty, librarianship <b>"))
	require.Empty(t, marked(""))
	require.Empty(t, marked("– … 図書館"))
}
