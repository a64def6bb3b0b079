package fetch_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html/charset"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestToUTF8(t *testing.T) {
	t.Parallel()
	const late = "<!-- " // pads a declaration past the standard's 1,024 bytes

	for name, test := range map[string]struct {
		contentType, body string
		want, charset     string
	}{
		"Empty":                     {"text/html", "", "", "utf-8"},
		"UTF8Header":                {"text/html; charset=UTF-8", "gr\xc3\xbcn", "grün", "utf-8"},
		"Latin1Header":              {"text/html; charset=iso-8859-1", "gr\xfcn \x80", "grün €", "windows-1252"},
		"QuotedHeader":              {`text/html; charset="koi8-r"`, "\xc4\xc1", "да", "koi8-r"},
		"HalfQuotedHeader":          {`text/html; charset="koi8-r`, "\xc4\xc1", "да", "koi8-r"},
		"DoubledHeader":             {"text/html; charset=koi8-r; charset=koi8-r", "\xc4\xc1", "да", "koi8-r"},
		"SpacedHeader":              {"text/html ; CharSet = koi8-r ; x", "\xc4\xc1", "да", "koi8-r"},
		"NoMediaType":               {"charset=koi8-r", "\xc4\xc1", "да", "koi8-r"},
		"ShiftJIS":                  {"text/html; charset=Shift_JIS", "\x93\xfa\x96\x7b", "\u65e5\u672c", "shift_jis"},
		"EUCJP":                     {"text/html; charset=euc-jp", "\xc6\xfc\xcb\xdc", "\u65e5\u672c", "euc-jp"},
		"ISO2022JP":                 {"text/html; charset=iso-2022-jp", "\x1b$BF|K\\\x1b(B", "\u65e5\u672c", "iso-2022-jp"},
		"EUCKR":                     {"text/html; charset=ks_c_5601-1987", "\xc7\xd1", "한", "euc-kr"},
		"GB2312IsGBK":               {"text/html; charset=gb2312", "\xd6\xd0", "\u4e2d", "gbk"},
		"GB18030":                   {"text/html; charset=gb18030", "\xd6\xd0", "\u4e2d", "gb18030"},
		"Big5":                      {"text/html; charset=big5", "\xa4\xa4", "\u4e2d", "big5"},
		"UTF16Header":               {"text/html; charset=utf-16le", "h\x00i\x00", "hi", "utf-16le"},
		"UnknownHeaderThenMeta":     {"text/html; charset=x", `<meta charset=koi8-r>` + "\xc4", `<meta charset=koi8-r>д`, "koi8-r"},
		"HeaderBeforeMeta":          {"text/html; charset=utf-8", "<meta charset=koi8-r>д", "<meta charset=koi8-r>д", "utf-8"},
		"BOMBeforeHeader":           {"text/html; charset=koi8-r", "\xef\xbb\xbfд", "д", "utf-8"},
		"UTF16BigEndianBOM":         {"text/html", "\xfe\xff\x00h\x00i", "hi", "utf-16be"},
		"UTF16LittleEndianBOM":      {"text/html; charset=utf-8", "\xff\xfeh\x00i\x00", "hi", "utf-16le"},
		"OddUTF16":                  {"text/html", "\xff\xfeh\x00i", "h\ufffd", "utf-16le"},
		"BOMAlone":                  {"text/html", "\xef\xbb\xbf", "", "utf-8"},
		"MetaCharset":               {"text/html", "<MeTa CHARSET='koi8-r'>\xc4", "<MeTa CHARSET='koi8-r'>д", "koi8-r"},
		"MetaHTTPEquiv":             {"text/html", `<meta content="text/html; charset=koi8-r" http-equiv=Content-Type>` + "\xc4", `<meta content="text/html; charset=koi8-r" http-equiv=Content-Type>д`, "koi8-r"},
		"MetaOfAnotherKind":         {"text/html", `<meta name=a content="charset=koi8-r">` + "\xc4", `<meta name=a content="charset=koi8-r">Ä`, "windows-1252"},
		"MetaWithoutContentType":    {"", "<meta charset=koi8-r>\xc4", "<meta charset=koi8-r>д", "koi8-r"},
		"MetaInAComment":            {"text/html", "<!-- <meta charset=koi8-r> -->\xc4", "<!-- <meta charset=koi8-r> -->Ä", "windows-1252"},
		"MetaInAScript":             {"text/html", "<script>'<meta charset=koi8-r>'</script>\xc4", "<script>'<meta charset=koi8-r>'</script>Ä", "windows-1252"},
		"MetaInPlainText":           {"text/plain", "<meta charset=koi8-r>\xc4", "<meta charset=koi8-r>Ä", "windows-1252"},
		"MetaUTF16IsUTF8":           {"text/html", "<meta charset=utf-16>д", "<meta charset=utf-16>д", "utf-8"},
		"MetaUserDefined":           {"text/html", "<meta charset=x-user-defined>\xe4", "<meta charset=x-user-defined>ä", "windows-1252"},
		"UnknownMetaThenFallback":   {"text/html", "<meta charset=x>д", "<meta charset=x>д", "utf-8"},
		"XMLDeclaration":            {"application/xml", `<?xml version="1.0" encoding='koi8-r'?>` + "\xc4", `<?xml version="1.0" encoding='koi8-r'?>д`, "koi8-r"},
		"XMLDeclarationUnquoted":    {"application/xml", "<?xml encoding=koi8-r?>д", "<?xml encoding=koi8-r?>д", "utf-8"},
		"UndeclaredUTF8":            {"text/plain", "grün", "grün", "utf-8"},
		"UndeclaredUTF8CutAtTheEnd": {"text/plain", "grün \xe2\x82", "grün \ufffd", "utf-8"},
		"UndeclaredLatin1":          {"text/plain", "gr\xfcn", "grün", "windows-1252"},
		"InvalidUTF8":               {"text/html; charset=utf-8", "a\xffb\xc3", "a\ufffdb\ufffd", "utf-8"},
		"InvalidShiftJIS":           {"text/html; charset=shift_jis", "a\xff", "a\ufffd", "shift_jis"},
		"Unsafe7BitIsReplaced":      {"text/html; charset=hz-gb-2312", "~{VP~}", "\ufffd", "replacement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, name, err := fetch.ToUTF8([]byte(test.body), test.contentType)
			require.NoError(t, err)
			require.Equal(t, test.want, string(text))
			require.Equal(t, test.charset, name)
		})
	}

	t.Run("FindsALateDeclaration", func(t *testing.T) {
		t.Parallel()
		body := late + strings.Repeat("x", 2000) + " --><meta charset=koi8-r>\xc4"
		text, name, err := fetch.ToUTF8([]byte(body), "text/html")
		require.NoError(t, err)
		require.Equal(t, "koi8-r", name)
		require.True(t, strings.HasSuffix(string(text), "д"))
	})

	t.Run("FindsADeclarationAtTheEndOfALongHead", func(t *testing.T) {
		t.Parallel()
		head := "<html><head><script>" + strings.Repeat("x", 20_000) + "</script><title>t</title><link><meta charset=koi8-r>"
		_, name, err := fetch.ToUTF8([]byte(head+"</head>\xc4"), "text/html")
		require.NoError(t, err)
		require.Equal(t, "koi8-r", name)
	})

	t.Run("IgnoresALateDeclarationInTheBody", func(t *testing.T) {
		t.Parallel()
		for _, start := range []string{"</head>", "<body>", "<p>"} {
			body := strings.Repeat(" ", 2000) + start + "<meta charset=koi8-r>\xe9t\xe9 \xe0 la ville"
			_, name, err := fetch.ToUTF8([]byte(body), "text/html")
			require.NoError(t, err)
			require.Equal(t, "windows-1252", name, start)
			_, name, err = fetch.ToUTF8([]byte(strings.TrimSpace(body)), "text/html")
			require.NoError(t, err)
			require.Equal(t, "koi8-r", name, "among the first 1,024 bytes")
		}
	})

	t.Run("SkipsUnknownDeclarations", func(t *testing.T) {
		t.Parallel()
		body := "<meta charset=x><meta http-equiv=content-type content='text/html; charset='><meta charset=koi8-r>\xc4"
		_, name, err := fetch.ToUTF8([]byte(body), "text/html")
		require.NoError(t, err)
		require.Equal(t, "koi8-r", name)
	})

	t.Run("TakesUTF8ThatBeginsLate", func(t *testing.T) {
		t.Parallel()
		_, name, err := fetch.ToUTF8([]byte(strings.Repeat("x", 10_000)+"д"), "text/html")
		require.NoError(t, err)
		require.Equal(t, "utf-8", name)
	})
}

// Pages without a declaration, with the text once in the title and once in a paragraph.
func TestGuessedCharsets(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"big5":           "你好,世界。今天天氣很好,我們去公園散步了。這是一個中文網頁。",
		"euc-jp":         "こんにちは世界。今日は天気が良いので、公園へ散歩に行きました。日本語のページです。",
		"euc-kr":         "안녕하세요 세계. 오늘은 날씨가 좋아서 공원에 산책하러 갔습니다. 한국어 페이지입니다.",
		"gbk":            "你好,世界。今天天气很好,我们去公园散步了。这是一个中文网页。",
		"iso-2022-jp":    "こんにちは世界。今日は天気が良いので、公園へ散歩に行きました。",
		"iso-8859-7":     "Γειά σου κόσμε! Σήμερα ο καιρός είναι καλός και πήγαμε βόλτα στο πάρκο.",
		"koi8-r":         "Привет, мир! Сегодня хорошая погода, и мы пошли гулять в парк. Новости города и области.",
		"shift_jis":      "こんにちは世界。今日は天気が良いので、公園へ散歩に行きました。日本語のページです。",
		"windows-1251":   "Привет, мир! Сегодня хорошая погода, и мы пошли гулять в парк. Новости города и области.",
		"windows-1251/2": "Привіт, світе! Сьогодні гарна погода, і ми пішли гуляти до парку. Новини міста та області.",
		"windows-1252/1": "Grüße aus München. Die Straße über den Fluß führt nach Österreich; schöne Häuser und große Gärten.",
		"windows-1252/2": "Le garçon a été élevé près de la forêt. Où êtes-vous allés à Noël ? L’été dernier, des crêpes.",
		"windows-1252/3": "Rødgrød med fløde er en dansk ret. Åen løber gennem byen, og børnene spiser æbler på øen.",
		"windows-1252/4": "Tämä on hyvä päivä. Hän söi leipää ja joi vettä järven rannalla. Äiti lähti töihin.",
		"windows-1252/5": "Price: £5. © 2005 “Smith” – café",
		"windows-1255":   "שלום עולם! היום מזג האוויר טוב והלכנו לטייל בפארק. חדשות העיר והאזור.",
		"windows-874":    "สวัสดีชาวโลก วันนี้อากาศดี เราไปเดินเล่นที่สวนสาธารณะ ข่าวของเมือง",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _, _ := strings.Cut(name, "/")
			encoding, _ := charset.Lookup(want)
			page := "<html lang=en><head><title>" + text + "</title></head><body><a href='/news/'>1</a><p>" + text + "</p></body>"
			body, err := encoding.NewEncoder().String(page)
			require.NoError(t, err)
			got, charset, err := fetch.ToUTF8([]byte(body), "text/html")
			require.NoError(t, err)
			require.Equal(t, want, charset)
			require.Equal(t, page, string(got))
		})
	}
}

func FuzzToUTF8(f *testing.F) {
	for _, seed := range [][2]string{
		{"grün", "text/html; charset=utf-8"},
		{"\xff\xfeh\x00i\x00\xd8", ""},
		{"\x1b$BF|K\\\x1b(", "text/html; charset=iso-2022-jp"},
		{"<meta http-equiv=content-type content='text/html; charset=big5'>\xa4", "text/html"},
		{`<?xml encoding="gb18030"?>` + "\x81\x30\x81", "application/xml"},
		{"~{VP", "text/plain; charset=hz-gb-2312"},
		{"\xc4", "charset charset= ;charset=\"koi8-u"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		before := string(body)
		text, name, err := fetch.ToUTF8(body, contentType)
		require.NoError(t, err)
		require.True(t, utf8.Valid(text))
		require.LessOrEqual(t, len(text), 3*len(body)+len("\ufffd"))
		_, canonical := charset.Lookup(name)
		require.Equal(t, canonical, name)
		require.Equal(t, before, string(body), "the body is not to be changed")
	})
}

func BenchmarkToUTF8(b *testing.B) {
	const length = 1 << 20
	for name, test := range map[string]struct{ contentType, piece string }{
		"UTF8":           {"text/html; charset=utf-8", "hello, grün "},
		"Undeclared":     {"text/html", "hello, grün "},
		"Windows1252":    {"text/html; charset=iso-8859-1", "hello, gr\xfcn "},
		"InvalidUTF8":    {"text/html; charset=utf-8", "\xff"},
		"UnclosedMarkup": {"text/html", "<meta "},
		"HostileHeader":  {strings.Repeat("charset ", 8<<10) + strings.Repeat(" ", 64<<10), "\xff"},
	} {
		b.Run(name, func(b *testing.B) {
			body := []byte(strings.Repeat(test.piece, length/len(test.piece)))
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := fetch.ToUTF8(body, test.contentType)
				require.NoError(b, err)
			}
		})
	}
}
