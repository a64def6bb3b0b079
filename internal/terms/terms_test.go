package terms_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/terms"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"Durable politeness.":             "durable politeness",
		"don't e-mail: a_b c++ v1.2.3":    "don t e mail a b c v1 2 3",
		"Café, naïve, Ångström":           "cafe naive angstrom",
		"Cafe\u0301 (decomposed)":         "cafe decomposed",
		"straße STRASSE œuvre øl Łódź":    "strasse strasse oeuvre ol lodz",
		"đường Việt Nam":                  "duong viet nam",
		"ﬁne ＡＢＣ １２３ x²":                  "fine abc 123 x2",
		"ёлка Йод мо́ре Київ":             "елка йод море киів",
		"Ελλάδα Οδυσσεύς":                 "ελλαδα οδυσσευσ",
		"السَّلَام عليـــكم":              "السلام عليكم",
		"שָׁלוֹם":                         "שלום",
		"हिन्दी भाषा":                     "हिन्दी भाषा",
		"東京都":                             "東京 京都 都",
		"東京 都":                            "東京 京 都",
		"猫":                               "猫",
		"GoのTemporal入門":                   "go の temporal 入門 門",
		"ｶﾀｶﾅ カタカナ コーヒー":                  "カタ タカ カナ ナ カタ タカ カナ ナ コー ーヒ ヒー ー",
		"한국어 검색":                          "한국 국어 어 검색 색",
		"ภาษาไทย":                         "ภา าษ ษา าไ ไท ทย ย",
		"ที่นี่":                          "ที่นี่ นี่",
		"ខ្មែរ":                           "ខ្មែ មែរ រ",
		"a\u00adb\u200dc zero\u200bwidth": "abc zero width",
		"\xff\xfea\xffb":                  "a b",
		"a\x00b":                          "a b",
		strings.Repeat("x", 100) + " y":   strings.Repeat("x", 40) + " y",
	} {
		var c terms.Cutter
		got, n := c.Cut(nil, text, 100)
		require.Equal(t, want, string(got), text)
		require.Len(t, strings.Fields(want), n, text)
	}
}

func TestCutIsBounded(t *testing.T) {
	t.Parallel()
	var c terms.Cutter
	got, n := c.Cut([]byte("before"), "a b c 東京都", 2)
	require.Equal(t, "before a b", string(got))
	require.Equal(t, 2, n)
}

func TestCutWhole(t *testing.T) {
	t.Parallel()
	c := terms.Cutter{Whole: true}
	for text, want := range map[string]string{"東京都": "東京 京都", "猫": "猫", "猫 犬": "猫 犬"} {
		got, _ := c.Cut(nil, text, 100)
		require.Equal(t, want, string(got), text)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	p := terms.Page{
		Title: "The lamp", Headings: "Lamps\nOf oil", Text: "the lamp internationally the lamp internationalized", URL: "https://a.example/",
	}
	x := terms.Index(p)
	the := fmt.Sprintf("h%02x", crawl.BucketOf("the"))
	require.Equal(t, "lamp:1:"+the+" the:1:h", x.Title)
	require.Regexp(t, `^internationalized:1:a0[01] internationally:1:a0[01] lamp:2:a0[01] the:2:a0[01]$`, x.Text, "not in the order of the text")
	require.Equal(t, 6, x.Words)
	require.Equal(t, 2, x.TitleWords)
	require.Equal(t, []string{"Lamps", "Of oil"}, x.Outline)
	require.Equal(t, "lamp:1:"+the+" the:1:h", terms.Anchors(map[string]int{"the lamp": 1}))
	require.Equal(t, "京:1 京都:1 東:1 東京:1:h 都:1", terms.Index(terms.Page{Title: "東京都"}).Title, "pairs overlap")

	p.NoArchive = true
	x = terms.Index(p)
	require.Equal(t, "internationalized:1: internationally:1: lamp:2: the:2:", x.Text)
	require.Equal(t, "lamp:1: the:1:", x.Title)
	require.Equal(t, "a:1: a.example:1: example:1:", x.Address)
	require.Empty(t, x.Outline)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"pt-BR": "portuguese", "nb": "norwegian", "zh-Hant": "simple", "": "simple", "sr-Latn": "serbian"} {
		require.Equal(t, want, terms.Config(tag), tag)
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "a b", "東京都", "ที่นี่", "\xff", "한국어", "e\u0301\u0301", "ﷺ", "\u0e33\u0e33"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		var c terms.Cutter
		limit = min(max(limit, 0), 1000)
		got, n := c.Cut(nil, text, limit)
		require.True(t, utf8.Valid(got))
		require.LessOrEqual(t, n, limit)
		require.NotContains(t, string(got), "\x00")
		again, m := c.Cut(nil, text, limit)
		require.Equal(t, got, again, "the same text has the same terms")
		require.Equal(t, n, m)
	})
}

func BenchmarkIndex(b *testing.B) {
	for name, text := range map[string]string{
		"English":  strings.Repeat("The keeper of the lighthouse climbs the stairs every evening and lights the lamp. ", 70),
		"German":   strings.Repeat("Der Wärter des Leuchtturms steigt jeden Abend die Stufen hinauf und zündet für Schiffe die Lampe an. ", 60),
		"Russian":  strings.Repeat("Смотритель маяка каждый вечер поднимается по лестнице и зажигает лампу. ", 50),
		"Japanese": strings.Repeat("灯台守は毎晩階段を上り、灯りをともし、天気を帳面に書きます。", 60),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				terms.Index(terms.Page{Text: text})
			}
		})
	}
}
