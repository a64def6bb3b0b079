package robots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

// decideCases are decided for the token "mosey". The paths in denied must be
// denied by the file, those in allowed must not.
var decideCases = []struct {
	name    string
	robots  string
	allowed []string
	denied  []string
}{
	// Nothing to obey.
	{"EmptyFile", "", []string{"/", "/a?b"}, nil},
	{"CommentsOnly", "# User-agent: *\n# Disallow: /\n", []string{"/"}, nil},
	{"NoGroupForUs", "User-agent: other\nDisallow: /\n", []string{"/"}, nil},
	{"EmptyDisallow", "User-agent: *\nDisallow:\n", []string{"/", "/a"}, nil},
	{"PlainText", "Not Found\n", []string{"/"}, nil},

	// Groups (RFC 9309 §2.2.1).
	{"Star", "User-agent: *\nDisallow: /a\n", []string{"/", "/b"}, []string{"/a", "/ab", "/a/b", "/a?x"}},
	{"OwnGroupBeatsStar", "User-agent: *\nDisallow: /\nUser-agent: mosey\nDisallow: /a\n", []string{"/b"}, []string{"/a"}},
	{"OwnGroupBeforeStar", "User-agent: mosey\nDisallow: /a\nUser-agent: *\nDisallow: /\n", []string{"/b"}, []string{"/a"}},
	{"OwnGroupWithoutRulesShields", "User-agent: *\nDisallow: /\nUser-agent: mosey\n", []string{"/"}, nil},
	{"TokenInAnyCase", "User-agent: MoSeY\nDisallow: /a\n", nil, []string{"/a"}},
	{"TokenWithVersion", "User-agent: mosey/1.2 (+https://example.org)\nDisallow: /a\n", nil, []string{"/a"}},
	{"LongerTokenIsAnother", "User-agent: moseybot\nDisallow: /\n", []string{"/"}, nil},
	{"HyphenatedTokenIsAnother", "User-agent: mosey-images\nDisallow: /\n", []string{"/"}, nil},
	{"ShorterTokenIsAnother", "User-agent: m\nDisallow: /\n", []string{"/"}, nil},
	{"GroupsOfOneTokenMerge", "User-agent: mosey\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: Mosey\nDisallow: /b\n", []string{"/x"}, []string{"/a", "/b"}},
	{"StarGroupsMerge", "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: *\nDisallow: /b\n", []string{"/x"}, []string{"/a", "/b"}},
	{"SeveralTokensOneGroup", "User-agent: x\nUser-agent: mosey\nUser-agent: y\nDisallow: /a\n", nil, []string{"/a"}},
	{"BlankLinesDoNotEndAGroup", "User-agent: mosey\n\n\nDisallow: /a\n\nDisallow: /b\n", nil, []string{"/a", "/b"}},
	{"SitemapDoesNotEndAGroup", "User-agent: mosey\nSitemap: https://example.org/s.xml\nUser-agent: x\nDisallow: /a\n", nil, []string{"/a"}},
	{"CrawlDelayDoesNotEndAGroup", "User-agent: mosey\nCrawl-delay: 5\nUser-agent: x\nDisallow: /a\n", nil, []string{"/a"}},
	{"UnknownLinesChangeNothing", "User-agent: mosey\nHost: example.org\nNoindex: /n\nDisallow: /a\n", []string{"/n"}, []string{"/a"}},
	{"EmptyRuleEndsTheRunOfAgents", "User-agent: mosey\nDisallow:\nUser-agent: x\nDisallow: /\n", []string{"/"}, nil},
	{"OrphanRulesAreDropped", "Disallow: /a\nUser-agent: *\nDisallow: /b\n", []string{"/a"}, []string{"/b"}},
	{"NamelessAgentIsNobody", "User-agent:\nDisallow: /\n", []string{"/"}, nil},
	{"StarWithRubbish", "User-agent: *;\nDisallow: /a\n", nil, []string{"/a"}},
	{"StarIsNoPattern", "User-agent: *sey\nDisallow: /\n", []string{"/"}, nil},

	// Lines.
	{"NoBlanks", "user-agent:*\ndisallow:/a", nil, []string{"/a"}},
	{"BlanksAndTabs", " \tUser-Agent\t: *\t\n\t Disallow :\t/a \t\n", nil, []string{"/a", "/ab"}},
	{"CarriageReturns", "User-agent: *\rDisallow: /a\rAllow: /a/b\r", []string{"/a/b"}, []string{"/a"}},
	{"MixedLineEnds", "User-agent: *\r\n\n\rDisallow: /a\r\n\rDisallow: /b", nil, []string{"/a", "/b"}},
	{"CommentWithoutBlank", "User-agent: *#us\nDisallow: /a#b\n", nil, []string{"/a", "/ac"}},
	{"NoColon", "User-agent *\nDisallow /a\n", nil, []string{"/a"}},
	{"NoColonInProse", "User-agent: *\nDisallow /a please\n", []string{"/a"}, nil},
	{"Misspelled", "Useragent: *\nDissalow: /a\n", nil, []string{"/a"}},
	{"NoBreakSpaces", "\u00a0User-agent\u00a0:\u00a0*\u00a0\nDisallow:\u00a0/a\u00a0\u00a0\nDisallow:\xa0/b\xa0\n", []string{"/"}, []string{"/a", "/ab", "/b"}},
	{"ControlCharacters", "User-agent: *\x00\n\x7fDisallow: \x1f/a\x00\x01\nDisallow:\u0085/b\u0080\n", []string{"/"}, []string{"/a", "/ab", "/b"}},
	{"NoBreakSpaceInside", "User-agent: *\nDisallow: /a\u00a0b\n", []string{"/a", "/ab"}, []string{"/a\u00a0b"}},
	{"Semicolon", "User-agent; *\nDisallow; /a\nDisallow;/b:c\nDisallow;: /d\n", []string{"/", "/b"}, []string{"/a", "/b:c", "/d"}},
	{"SemicolonInPath", "User-agent: *\nDisallow: /a;b\nDisallow /c;d\n", []string{"/a", "/c"}, []string{"/a;b", "/c;d"}},
	{"SemicolonOpensNothing", "User-agent: *\nDisallow: /\nAllow; /a\n", nil, []string{"/a"}},
	{"BlankInPath", "User-agent: *\nDisallow: /a b\n", []string{"/a"}, []string{"/a%20b", "/a b"}},
	{"ColonInPath", "User-agent: *\nDisallow: /a:b\n", []string{"/a"}, []string{"/a:b"}},
	{"ByteOrderMark", "\ufeffUser-agent: *\nDisallow: /a\n", nil, []string{"/a"}},
	{"CutByteOrderMark", "\xef\xbbUser-agent: *\nDisallow: /a\n", nil, []string{"/a"}},
	{"UTF16", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00\xe9\x00", nil, []string{"/%C3%A9"}},
	{"UTF16CutInACharacter", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00a\x00\n", nil, []string{"/a"}},
	{"NULInALine", "User-agent: *\nDis\x00allow: /a\nDisallow: /b\n", []string{"/a"}, []string{"/b"}},

	// Precedence (§2.2.2).
	{"LongestWins", "User-agent: *\nAllow: /a/b\nDisallow: /a\nDisallow: /a/b/c\n", []string{"/a/b", "/a/b/d"}, []string{"/a", "/a/c", "/a/b/c"}},
	{"AllowWinsATie", "User-agent: *\nDisallow: /a\nAllow: /a\n", []string{"/a"}, nil},
	{"AllowWinsATieOfWildcards", "User-agent: *\nDisallow: /a*b\nAllow: /*ab\n", []string{"/aab"}, []string{"/acb"}},
	{"WildcardsCountAsOneOctet", "User-agent: *\nAllow: /folder/\nDisallow: /*.html$\n", []string{"/folder/x.html"}, []string{"/x.html"}},
	{"EscapesInRegexpsDoNotCount", "User-agent: *\nAllow: /shop/a\nDisallow: /*.p.\n", []string{"/shop/a.p.x"}, []string{"/shop/b.p.x"}},
	{"FinalStarCounts", "User-agent: *\nAllow: /\nDisallow: /*\n", nil, []string{"/", "/a"}},
	{"AllowOnlyAPart", "User-agent: *\nDisallow: /\nAllow: /pub/\nAllow: /$\n", []string{"/", "/pub/", "/pub/x"}, []string{"/pub", "/x", "/?q"}},
	{"RobotsTxtIsAlwaysAllowed", "User-agent: *\nDisallow: /\n", []string{"/robots.txt"}, []string{"/robots.txt.bak", "/robots.txt?x", "/a/robots.txt"}},

	// Wildcards (§2.2.3).
	{"StarInside", "User-agent: *\nDisallow: /a*.php\n", []string{"/a", "/b/a.php", "/a.PHP"}, []string{"/a.php", "/ab/c.php5", "/a?x=.php"}},
	{"StarInFront", "User-agent: *\nDisallow: *.gif$\n", []string{"/a.gif?x", "/gif"}, []string{"/a.gif", "/.gif", "/a.gif.gif"}},
	{"StarAlone", "User-agent: *\nDisallow: *\n", nil, []string{"/", "/a"}},
	{"ManyStars", "User-agent: *\nDisallow: /*/*a**b\n", []string{"/ab", "/x/ba"}, []string{"/x/ab", "//zaxxb/"}},
	{"DollarEnds", "User-agent: *\nDisallow: /a$\n", []string{"/ab", "/a/", "/b/a"}, []string{"/a"}},
	{"DollarAfterStar", "User-agent: *\nDisallow: /a*$\n", []string{"/b"}, []string{"/a", "/ab"}},
	{"DollarAfterALateMatch", "User-agent: *\nDisallow: /*ab$\n", []string{"/ab/x"}, []string{"/abxab", "/ab"}},
	{"DollarInsideIsLiteral", "User-agent: *\nDisallow: /a$b\nDisallow: /c$*\n", []string{"/a", "/ab", "/c"}, []string{"/a$b", "/a%24bc", "/c$", "/c$d"}},
	{"DollarAlone", "User-agent: *\nDisallow: $\n", []string{"/a"}, []string{"/"}},
	{"RegexpSyntaxIsLiteral", "User-agent: *\nDisallow: /a.b+(c)[d]\nDisallow: /x?y\n", []string{"/aXb+(c)[d]", "/a.bb(c)[d]", "/y"}, []string{"/a.b+(c)[d]", "/x?y=1"}},

	// Percent-encoding (§2.2.2).
	{"UnreservedEscapes", "User-agent: *\nDisallow: /%62%61r\nDisallow: /%7ejoe\n", nil, []string{"/bar", "/b%61r", "/~joe", "/%7Ejoe"}},
	{"NonASCII", "User-agent: *\nDisallow: /ツ\n", nil, []string{"/%E3%83%84", "/%e3%83%84", "/ツ"}},
	{"Latin1", "User-agent: *\nDisallow: /caf\xe9\n", []string{"/caf%C3%A9"}, []string{"/caf%E9", "/caf\xe9"}},
	{"ReservedEscapesDiffer", "User-agent: *\nDisallow: /a%2Fb\nDisallow: /c%3Fd\n", []string{"/a/b", "/c?d"}, []string{"/a%2fb", "/c%3fd"}},
	{"EscapedWildcardsAreLiteral", "User-agent: *\nDisallow: /a%2A\nDisallow: /b%24\n", []string{"/ax", "/b"}, []string{"/a*", "/a%2a", "/b$", "/b$x"}},
	{"BareCharacters", "User-agent: *\nDisallow: /a|b\nDisallow: /{c}\n", nil, []string{"/a%7Cb", "/a|b", "/%7bc%7D"}},
	{"BrokenEscapes", "User-agent: *\nDisallow: /100%\nDisallow: /%zz\n", []string{"/100"}, []string{"/100%", "/100%25", "/100%x", "/%zz", "/%25zz"}},
	{"BarePercentIsAnyEscape", "User-agent: *\nDisallow: /*%\n", []string{"/", "/a?b"}, []string{"/a%C3%A9", "/%2f", "/a?b=%20", "/100%25", "/é"}},
	{"BarePercentBehindAStar", "User-agent: *\nDisallow: /itm/*/%\n", []string{"/itm/a/b%20c", "/itm/a"}, []string{"/itm/a/%20c", "/itm/a/b/%C3%A9"}},
	{"BarePercentBeforeAStar", "User-agent: *\nDisallow: /a%*9$\n", []string{"/a9", "/a%C3%A8"}, []string{"/a%C3%A9", "/a%25x9"}},
	{"CutEscape", "User-agent: *\nDisallow: /a%2\nDisallow: /b%c\n", []string{"/a%3Fb", "/a", "/b%B0"}, []string{"/a%2Fb", "/a%2f", "/a%252", "/b%C3%A9", "/b%c3"}},
	{"BarePercentKeepsItsRank", "User-agent: *\nAllow: /a\nAllow: /abcd\nDisallow: /*%\n", []string{"/abcd%C3", "/a"}, []string{"/a%C3"}},
	{"BarePercentInAllowIsItself", "User-agent: *\nDisallow: /\nAllow: /a%\nAllow: /b%2\n", []string{"/a%25", "/b%252"}, []string{"/a%C3", "/b%2F"}},

	// Paths.
	{"RuleWithoutSlash", "User-agent: *\nDisallow: private\n", []string{"/a/private"}, []string{"/private", "/private/a"}},
	{"AllowWithoutSlashOpensNothing", "User-agent: *\nDisallow: /*?\nAllow: app/uploads/\n", []string{"/app/uploads/x"}, []string{"/app/uploads/x?y"}},
	{"AllowWithoutSlashEndsTheRunOfAgents", "User-agent: mosey\nAllow: a\nUser-agent: x\nDisallow: /\n", []string{"/b"}, nil},
	{"AllowWithAStarInFront", "User-agent: *\nDisallow: /\nAllow: *.css\n", []string{"/a.css"}, []string{"/a"}},
	{"AllowDollarAlone", "User-agent: *\nDisallow: /\nAllow: $\n", nil, []string{"/"}},
	{"PathWithoutSlash", "User-agent: *\nDisallow: /\nAllow: /a\n", []string{"a"}, []string{"", "?a"}},
	{"QueryIsPartOfThePath", "User-agent: *\nDisallow: /*?\nDisallow: /a?b\n", []string{"/a"}, []string{"/x?", "/a?b=c"}},
	{"CaseMatters", "User-agent: *\nDisallow: /A\n", []string{"/a"}, []string{"/A"}},
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range decideCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules := robots.Parse([]byte(c.robots)).Rules("mosey")
			restored := robots.Restore(rules.String())
			for _, path := range c.allowed {
				require.True(t, rules.Decide(path).Allowed, path)
				require.Equal(t, rules.Decide(path), restored.Decide(path), path)
			}
			for _, path := range c.denied {
				require.False(t, rules.Decide(path).Allowed, path)
				require.Equal(t, rules.Decide(path), restored.Decide(path), path)
			}
		})
	}
}
