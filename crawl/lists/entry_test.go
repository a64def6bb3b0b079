package lists_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/lists"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lists.Entry{
		"example.org":           {Text: "example.org", Match: lists.MatchDomain},
		"\tWWW.Example.ORG.\n":  {Text: "example.org", Match: lists.MatchDomain},
		"example.co.uk":         {Text: "example.co.uk", Match: lists.MatchDomain},
		"alice.github.io":       {Text: "alice.github.io", Match: lists.MatchDomain},
		"bücher.example":        {Text: "xn--bcher-kva.example", Match: lists.MatchHost},
		"shop.example.org":      {Text: "shop.example.org", Match: lists.MatchHost},
		"co.uk":                 {Text: "co.uk", Match: lists.MatchHost},
		"localhost":             {Text: "localhost", Match: lists.MatchHost},
		"*.example.org":         {Text: "*.example.org", Match: lists.MatchBelow},
		"*.Shop.example.org":    {Text: "*.shop.example.org", Match: lists.MatchBelow},
		"*.org":                 {Text: "*.org", Match: lists.MatchBelow},
		"https://example.org/":  {Text: "example.org", Match: lists.MatchDomain},
		"http://192.0.2.7:80":   {Text: "192.0.2.7/32", Match: lists.MatchNetwork},
		"192.0.2.0/24":          {Text: "192.0.2.0/24", Match: lists.MatchNetwork},
		"192.0.2.77/24":         {Text: "192.0.2.0/24", Match: lists.MatchNetwork},
		"192.0.2.7":             {Text: "192.0.2.7/32", Match: lists.MatchNetwork},
		"2001:db8::/32":         {Text: "2001:db8::/32", Match: lists.MatchNetwork},
		"[2001:db8::1]":         {Text: "2001:db8::1/128", Match: lists.MatchNetwork},
		"*.xn--bcher-kva.de":    {Text: "*.xn--bcher-kva.de", Match: lists.MatchBelow},
		"sub.blog.example.com.": {Text: "sub.blog.example.com", Match: lists.MatchHost},
	} {
		e, err := lists.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want.Match == lists.MatchNetwork, e.Network.IsValid(), text)
		e.Network = want.Network
		require.Equal(t, want, e, text)
		again, err := lists.Parse(e.Text)
		require.NoError(t, err)
		require.Equal(t, e.Text, again.Text, "the canonical form is its own")
	}
	for _, bad := range []string{
		"", " ", "*", "*.", "https://example.org/a", "example.org/path", "*.https://example.org/", "a.*.example.org", "user@example.org", "192.0.2.0/33",
		"a b", strings.Repeat("a", 300) + ".example", "fe80::1%eth0",
	} {
		_, err := lists.Parse(bad)
		require.ErrorIs(t, err, crawl.ErrInvalid, bad)
		require.ErrorContains(t, err, "want a host (shop.example.org)", bad)
		require.Less(t, len(err.Error()), 400)
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"example.org":                    "example.org",
		"\ufeffexample.org\r":            "example.org",
		"example.org # a comment":        "example.org",
		"0.0.0.0 ads.example.org":        "ads.example.org",
		"127.0.0.1\tads.example.org # x": "ads.example.org",
		":: ads.example.org":             "ads.example.org",
		"0.0.0.0":                        "0.0.0.0/32",
		"":                               "",
		"   ":                            "",
		"# a comment":                    "",
	} {
		e, found, err := lists.ParseLine(line)
		require.NoError(t, err, line)
		require.Equal(t, want != "", found, line)
		require.Equal(t, want, e.Text, line)
	}
	for _, bad := range []string{"a.example b.example", "192.0.2.7 a.example", "http://a.example/b"} {
		_, found, err := lists.ParseLine(bad)
		require.ErrorIs(t, err, crawl.ErrInvalid, bad)
		require.False(t, found)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"example.org", "*.example.org", "192.0.2.0/24", "::/0", "*.*.a", "0.0.0.0 a.example"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := lists.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, crawl.ErrInvalid)
			return
		}
		again, err := lists.Parse(e.Text)
		require.NoError(t, err, "%q is read from %q", e.Text, text)
		require.Equal(t, e, again)
	})
}
