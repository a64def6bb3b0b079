package seedfile_test

import (
	"strings"
	"testing"

	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/internal/seedfile"
)

func TestReadOPML(t *testing.T) {
	t.Parallel()
	const stopped = "the rest of the XML is ignored: "
	check(t, seeds.OPML, map[string]wants{
		"TakesSitesAndFeeds": {
			list: `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Blogs &amp; more</title></head><body>
  <outline text="Folder">
    <outline text="A" type="rss" xmlUrl="https://a.example/feed?x=1&amp;y=2"
      htmlUrl=" https://a.example/ "/>
    <outline text="B" XMLURL="b.example/feed"/><outline htmlurl="c.example"/>
    <outline htmlUrl="" xmlUrl=""/>
  </outline>
</body></opml>`,
			want: []string{
				"4 https://a.example/", "4 https://a.example/feed?x=1&y=2 feed", "6 b.example/feed feed", "6 c.example",
			},
		},
		"TellsWhatIsNoSeed": {
			list: "<opml>\n<outline xmlUrl='feed://a.example/'/><outline htmlUrl='a\n.example'/><outline htmlUrl='b.example'/></opml>",
			want: []string{
				"2! feed://a.example/: scheme is not http or https",
				"2! a .example: the line has a tab, a line end or another control character", "3 b.example",
			},
		},
		"TakesOtherEncodings": {
			list: "<?xml version='1.0' encoding='iso-8859-1'?>\n<opml>\n<outline htmlUrl='https://a.example/\xfcber'/>\n</opml>",
			want: []string{"3 https://a.example/über"},
		},
		"TakesNoUTF16ThatIsNone": {
			list: "\ufeff<?xml version='1.0' encoding='utf-16'?><opml><outline htmlUrl='bücher.example'/></opml>",
			want: []string{"1 bücher.example"},
		},
		"RefusesUnknownEncodings": {
			list: "<?xml version='1.0' encoding='klingon'?>\n<opml></opml>",
			want: []string{`1! : ` + stopped + `xml: opening charset "klingon": unsupported charset: "klingon"`},
		},
		"TakesWhatIsBeforeBadXML": {
			list: "<opml>\n<outline htmlUrl='a.example'/>\n<outline htmlUrl='b.example'",
			want: []string{"2 a.example", "3! : " + stopped + "unexpected EOF"},
		},
		"TakesWhatIsBeforeTheEnd": {
			list: "<opml><body>\n<outline htmlUrl='a.example'>\n<outline xmlUrl='b.example'/>\n</body>",
			want: []string{"2 a.example", "3 b.example feed", "4! : " + stopped + "the XML ends inside an element"},
		},
		"TakesWhatIsBeforeALongTag": {
			list: "<opml>\n<outline htmlUrl='a.example'/>\n<outline text='" + strings.Repeat("x", seedfile.MaxRecordBytes) + "'/>",
			want: []string{"2 a.example", "3! : " + stopped + "a tag or a text is longer than 64 KiB"},
		},
		"TakesOneEncoding": {
			list: strings.Repeat("<?xml version='1.0' encoding='latin1'?>\n", 3) + "<opml></opml>",
			want: []string{`2! : ` + stopped + `xml: opening charset "latin1": the XML declares its encoding twice`},
		},
		"ExpandsNothing": {
			list: "<!DOCTYPE opml [<!ENTITY a 'x.example'><!ENTITY b SYSTEM 'file:///etc/passwd'>]>\n" +
				"<opml><outline htmlUrl='&a;'/><outline htmlUrl='&b;'/></opml>",
			want: []string{"2! &a;: " + neither, "2! &b;: " + neither},
		},
		"SkipsAndStops": {
			list: "<opml><outline htmlUrl='a.example' xmlUrl='b.example'/><outline htmlUrl='word' xmlUrl='c.example'/>",
			o:    seedfile.Options{Offset: 1, Limit: 2},
			want: []string{"1 b.example feed", "1! word: " + neither},
		},
		"TellsThatItIsMalformedPastAnyOffset": {
			list: "<opml><outline htmlUrl='a.example'/>",
			o:    seedfile.Options{Offset: 5},
			want: []string{"1! : " + stopped + "the XML ends inside an element"},
		},
	})
}
