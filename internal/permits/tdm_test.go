package permits_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/permits"
	"github.com/mosey-web/mosey/internal/robots"
)

// w3cFile is the second example of the TDM Reservation Protocol.
const w3cFile = `[
	{"location": "/directory-a/", "tdm-reservation": 1},
	{"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy":"https://provider.com/policies/policy.json"},
	{"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}
]`

func TestTDMMatch(t *testing.T) {
	t.Parallel()
	const policy = "https://provider.com/policies/policy.json"
	for _, c := range []struct {
		file, path string
		want       permits.TDMRule
		matched    bool
	}{
		{`[{"location": "/", "tdm-reservation": 1}]`, "/a?b", permits.TDMRule{Location: "/", Reserved: true}, true},
		{w3cFile, "/directory-a/x.pdf", permits.TDMRule{Location: "/directory-a/", Reserved: true}, true},
		{w3cFile, "/directory-b/html/a", permits.TDMRule{Location: "/directory-b/html/", Reserved: true, Policy: policy}, true},
		{w3cFile, "/directory-b/images/1/a.jpg", permits.TDMRule{Location: "/directory-b/images/*.jpg"}, true},
		{w3cFile, "/directory-b/images/a.png", permits.TDMRule{}, false},
		{w3cFile, "/Directory-A/x.pdf", permits.TDMRule{}, false},
		{w3cFile, "/", permits.TDMRule{}, false},
		{`[{"location":"/a$","tdm-reservation":1}]`, "/ab", permits.TDMRule{}, false},
		{`[{"location":"/path/foo-%24","tdm-reservation":1}]`, "/path/foo-$", permits.TDMRule{Location: "/path/foo-%24", Reserved: true}, true},
		{`[{"location":"/a","tdm-reservation":0},{"location":"/a/b","tdm-reservation":1}]`, "/a/b", permits.TDMRule{Location: "/a"}, true},
		{`[]`, "/", permits.TDMRule{}, false},
	} {
		rules, err := permits.ParseTDM([]byte(c.file))
		require.NoError(t, err, c.file)
		rule, matched := rules.Match(c.path, robots.Match)
		require.Equal(t, c.matched, matched, c.path)
		require.Equal(t, c.want, rule, c.path)
	}
}

func TestParseTDMIsLenientWithRules(t *testing.T) {
	t.Parallel()
	rules, err := permits.ParseTDM([]byte("\xef\xbb\xbf" + `[
		{"location": "/1", "tdm-reservation": "1", "tdm-policy": "no URL", "more": [1]},
		{"location": "/2", "tdm-reservation": true, "tdm-policy": 7},
		{"location": "/3", "tdm-reservation": false},
		{"location": "/none", "tdm-reservation": 2},
		{"location": "/none"},
		{"location": "/none\u0000", "tdm-reservation": 1},
		{"location": ["/none"], "tdm-reservation": 1},
		{"location": null, "tdm-reservation": 1},
		{"tdm-reservation": 1},
		{"location": "/` + strings.Repeat("x", permits.MaxLocationBytes) + `", "tdm-reservation": 1},
		null, {}
	]`))
	require.NoError(t, err)
	require.Equal(t, permits.TDM{{Location: "/1", Reserved: true}, {Location: "/2", Reserved: true}, {Location: "/3"}}, rules)
}

func TestParseTDMRefusesWhatIsNoFileOfRules(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "<!doctype html>", `{"location":"/","tdm-reservation":1}`, `[{"location":"/"`, `["/"]`, `[1]`, "\x00"} {
		_, err := permits.ParseTDM([]byte(body))
		require.ErrorContains(t, err, "tdmrep.json is no JSON array of rules", body)
	}
	for _, body := range []string{strings.Repeat("[", permits.MaxTDMBytes), strings.Repeat(`[{"a":`, permits.MaxTDMBytes/6)} {
		_, err := permits.ParseTDM([]byte(body))
		require.Error(t, err)
	}
	_, err := permits.ParseTDM(make([]byte, permits.MaxTDMBytes+1))
	require.EqualError(t, err, "tdmrep.json has 262145 bytes: at most 262144 are read")
}

func TestParseTDMKeepsTheFirstRules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range permits.MaxTDMRules + 5 {
		fmt.Fprintf(&b, `,{"location":"/%d$","tdm-reservation":1}`, i)
	}
	rules, err := permits.ParseTDM([]byte("[" + b.String()[1:] + "]"))
	require.NoError(t, err)
	require.Len(t, rules, permits.MaxTDMRules)
	require.Equal(t, "/499$", rules[permits.MaxTDMRules-1].Location)
}

func TestAddTDM(t *testing.T) {
	t.Parallel()
	var p permits.Permits
	p.AddTDM(permits.TDMRule{Location: "/"})
	require.Zero(t, p)
	p.AddTDM(permits.TDMRule{Location: "/", Reserved: true, Policy: "https://provider.com/p"})
	require.Equal(t, permits.Permits{TDMReserved: permits.SourceFileTDM, TDMPolicy: "https://provider.com/p"}, p)
}
