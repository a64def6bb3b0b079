package seedfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/internal/seedfile"
)

const (
	notClosed = "a quote is not closed within 100 lines and 64 KiB"
	notEnded  = "a quoted field does not end in a quote and a separator"
)

func TestReadCSV(t *testing.T) {
	t.Parallel()
	check(t, seeds.CSV, map[string]wants{
		"ReadsNothingOfNothing": {list: "\n# c\n", o: seedfile.Options{Column: "url"}},
		"FindsTheUsualNames": {
			list: "Rank,Name,Root Domain\n1,owl,a.example\n2,node.js,b.example\n",
			want: []string{"2 a.example #1", "3 b.example #2"},
		},
		"FindsAURLBeforeAHost": {
			list: "host;url;globalrank\na.example;https://a.example/x;7\n",
			want: []string{"2 https://a.example/x #7"},
		},
		"FindsTheSeedsWithoutAHeader": {
			list: "1,node.js,example.org\n2,bun.sh,b.example\n",
			want: []string{"1 example.org", "2 b.example"},
		},
		"FindsAHostBelowNoKnownSuffix": {
			list: "1,0.85,a.example\n",
			want: []string{"1 a.example"},
		},
		"FindsTheSeedsBelowAHeaderOfOtherNames": {
			list: "n\tpage\n1\thttps://a.example/x,y;z\n2\tword\n",
			want: []string{"2 https://a.example/x,y;z", "3! word: " + neither},
		},
		"TakesACategoryForNoHeader": {
			list: "example.org,site\nexample.com,shop\n",
			want: []string{"1 example.org", "2 example.com"},
		},
		"TakesTheColumnAskedForByName": {
			list: "url,Feed_URL\na.example,b.example\n",
			o:    seedfile.Options{Column: "feed url"},
			want: []string{"2 b.example"},
		},
		"TakesTheColumnsAskedForByNumber": {
			list: "a.example;b.example;3\nc.example;d.example;x\ne.example;f.example;-1\ng.example;h.example\n",
			o:    seedfile.Options{Column: "2", RankColumn: "3"},
			want: []string{"1 b.example #3", "2 d.example", "3 f.example", "4 h.example"},
		},
		"TakesTheRankAskedForByName": {
			list: "domain,tld.rank,rank\na.example, 5 ,1\n",
			o:    seedfile.Options{RankColumn: "TLD.Rank"},
			want: []string{"2 a.example #5"},
		},
		"TakesForASeparatorWhatIsRareInURLs": {
			list: "https://a.example/x;y,5\nhttps://b.example/x;y,6\n",
			o:    seedfile.Options{RankColumn: "2"},
			want: []string{"1 https://a.example/x;y #5", "2 https://b.example/x;y #6"},
		},
		"TakesTabsBeforeCommas": {
			list: "https://a.example/x,y\t5\n",
			o:    seedfile.Options{RankColumn: "2"},
			want: []string{"1 https://a.example/x,y #5"},
		},
		"KeepsTheLineEndsOfQuotes": {
			list: "url,n\n\"a\nb.example\",1\n",
			want: []string{"2! a b.example: the line has a tab, a line end or another control character"},
		},
		"TakesOneColumnWholeWhateverIsInIt": {
			list: "url\nhttps://a.example/x,y;z\n\"https://b.example/\"\n",
			want: []string{"2 https://a.example/x,y;z", "3 https://b.example/"},
		},
		"TakesOneColumnWithoutAHeader": {
			list: "\ufeffa.example\r\nb.example\r\n",
			want: []string{"1 a.example", "2 b.example"},
		},
		"SkipsBlankRowsAndComments": {
			list: "# list\n\n,,\nurl,a,b\n\n,,\n# c\na.example,1,2\n \n",
			want: []string{"8 a.example"},
		},
		"UnquotesAsRFC4180Says": {
			list: "name,\"url\"\r\n\"a \"\"b\"\", c\r\nd\",\"https://a.example/\"\"x\"\"\"\r\n\"\",b.example\r\n",
			want: []string{`2 https://a.example/"x"`, "4 b.example"},
		},
		"TakesSpacesAroundQuotesAndQuotesWithinText": {
			list: "name, \"url\" , n\n5\" disk, \"a.example\" , 1\n",
			want: []string{"2 a.example"},
		},
		"TellsWhatIsMissing": {
			list: "name,url,n\na\nb,,1\nc,word,2\nd,d.example\n",
			want: []string{
				"2! a: column 2 is missing", "3! b,,1: the URL or host is missing", "4! word: " + neither, "5 d.example",
			},
		},
		"LosesNoMoreThanTheLineOfAQuoteThatIsNotClosed": {
			list: "name,url\n\"a,a.example\nb,b.example\n\"c\",c.example\nd,d.example\n\"e,e.example\n",
			want: []string{
				"2! \"a,a.example: " + notEnded, "3 b.example", "4 c.example", "5 d.example", "6! \"e,e.example: " + notClosed,
			},
		},
		"LosesNoMoreThanTheLineOfAQuoteThatIsCountless": {
			list: "name,url\n\"a,a.example\n" + strings.Repeat("b,b.example\n", 150) + "\"c\",c.example\n",
			o:    seedfile.Options{Limit: 2},
			want: []string{"2! \"a,a.example: " + notClosed, "3 b.example"},
		},
		"LosesNoMoreThanTheLineOfAQuoteThatIsHuge": {
			list: "name,url\n\"a,a.example\n" + strings.Repeat(strings.Repeat("b", 2000)+",b.example\n", 50) + "\"c\",c.example\n",
			o:    seedfile.Options{Limit: 2},
			want: []string{"2! \"a,a.example: " + notClosed, "3 b.example"},
		},
		"LosesNoMoreThanTheLineBeforeALongOne": {
			list: "name,url\n\"a,a.example\nb,b.example\n" + strings.Repeat("x", seedfile.MaxRecordBytes+1) + "\nc,c.example\n",
			want: []string{
				"2! \"a,a.example: " + notClosed, "3 b.example", "4! " + strings.Repeat("x", 77) + "…: " + long, "5 c.example",
			},
		},
		"LosesTheFirstLineIfItsQuoteIsNotClosed": {
			list: "\"name,url\n1,a.example\n",
			want: []string{"1! \"name,url: " + notClosed, "2 a.example"},
		},
		"TakesARecordOfAsManyLinesAsItMay": {
			list: "name,url\n\"" + strings.Repeat("\n", 99) + "\",a.example\n\"" + strings.Repeat("\n", 100) + "\",b.example\n",
			want: []string{"2 a.example", "102! \": " + notClosed, "202! \",b.example: " + notClosed},
		},
		"ShowsNoPasswordOfABrokenRecord": {
			list: "name/x,url\n\"a/x,https://me:secret@a.example\n",
			want: []string{"2! \"a/x,https:…@a.example: " + notClosed},
		},
		"CountsBrokenRecordsWhenItSkips": {
			list: "name,url\n\"a\"b,a.example\nb\nc,c.example\nd,d.example\ne,e.example\n",
			o:    seedfile.Options{Offset: 3, Limit: 1},
			want: []string{"5 d.example"},
		},
		"FindsTheColumnByARecordThatIsSkipped": {
			list: "1,x,example.org\n2,b.example,c.example\n",
			o:    seedfile.Options{Offset: 1},
			want: []string{"2 c.example"},
		},
	})
}

func TestReadTranco(t *testing.T) {
	t.Parallel()
	check(t, seeds.Tranco, map[string]wants{
		"TakesRankAndDomain": {
			list: "1,google.com\r\n2,xn--80ak6aa92e.com\r\n3,a\r\n4\r\n5,b.example\r\n",
			want: []string{
				"1 google.com #1", "2 xn--80ak6aa92e.com #2", "3! a: " + neither, "4! 4: column 2 is missing", "5 b.example #5",
			},
		},
		"TakesNoBadLineForAHeader": {
			list: "1,word\n2,a.example\n",
			want: []string{"1! word: " + neither, "2 a.example #2"},
		},
		"TakesAHeaderForOne": {
			list: "rank,domain\n1,a.example\n",
			want: []string{"2 a.example #1"},
		},
		"SkipsAndStops": {
			list: "1,a.example\n2,b.example\n3,c.example\n",
			o:    seedfile.Options{Offset: 1, Limit: 1},
			want: []string{"2 b.example #2"},
		},
	})
}

func TestReadMajestic(t *testing.T) {
	t.Parallel()
	const header = "GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs,IDN_Domain,IDN_TLD,PrevGlobalRank,PrevTldRank,PrevRefSubNets,PrevRefIPs\n"
	check(t, seeds.Majestic, map[string]wants{
		"TakesRankAndDomain": {
			list: header + "1,1,google.com,com,495826,2357714,google.com,com,1,1,496196,2361230\n" +
				"2,2,facebook.com,com,485064,2246110,facebook.com,com,2,2,485406,2248928\n",
			want: []string{"2 google.com #1", "3 facebook.com #2"},
		},
		"TakesTheColumnsInAnyOrder": {
			list: "Domain,GlobalRank\na.example,1\n",
			want: []string{"2 a.example #1"},
		},
	})
}

func TestReadCSVTakesManyRecords(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	var want []string
	for i := range 30_000 {
		fmt.Fprintf(&list, "\"%s\n\",%d.example.org,%d\n", strings.Repeat("x", i%50), i, i+1)
		want = append(want, fmt.Sprintf("%d %d.example.org #%d", 2*i+1, i, i+1))
	}
	got, err := read(t, seedfile.Options{Source: seeds.CSV, Column: "2", RankColumn: "3"}, strings.NewReader(list.String()))
	require.NoError(t, err)
	require.Equal(t, want, got)
}
