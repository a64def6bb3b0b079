package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/usage"
)

// w3cFile is the second example of the TDM Reservation Protocol.
const w3cFile = `[
	{"location": "/directory-a/", "tdm-reservation": 1},
	{"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy":"https://provider.com/policies/policy.json"},
	{"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}
]`

func TestParseTDMIsLenientWithRules(t *testing.T) {
	t.Parallel()
	rules, err := usage.ParseTDM([]byte("\xef\xbb\xbf" + `[
		{"location": "/1", "tdm-reservation": "1", "tdm-policy": "no URL", "more": [1]},
		{"location": "/2", "tdm-reservation": true, "tdm-policy": 7},
		{"location": "/3", "tdm-reservation": false},
		{"location": "/none", "tdm-reservation": 2},
		{"location": "/none"},
		{"location": "/none\u0000", "tdm-reservation": 1},
		{"location": ["/none"], "tdm-reservation": 1},
		{"location": null, "tdm-reservation": 1},
		{"tdm-reservation": 1},
		{"location": "/` + strings.Repeat("x", usage.MaxLocationBytes) + `", "tdm-reservation": 1},
		null, {}
	]`))
	require.NoError(t, err)
	require.Equal(t, usage.TDM{{Location: "/1", Reserved: true}, {Location: "/2", Reserved: true}, {Location: "/3"}}, rules)
}

func TestParseTDMRefusesWhatIsNoFileOfRules(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "<!doctype html>", `{"location":"/","tdm-reservation":1}`, `[{"location":"/"`, `["/"]`, `[1]`, "\x00"} {
		_, err := usage.ParseTDM([]byte(body))
		require.ErrorContains(t, err, "tdmrep.json is not a JSON array of rules", body)
	}
	for _, body := range []string{strings.Repeat("[", usage.MaxTDMBytes), strings.Repeat(`[{"a":`, usage.MaxTDMBytes/6)} {
		_, err := usage.ParseTDM([]byte(body))
		require.Error(t, err)
	}
	_, err := usage.ParseTDM(make([]byte, usage.MaxTDMBytes+1))
	require.EqualError(t, err, "tdmrep.json has 262145 bytes, more than the limit of 262144")
}

func TestParseTDMKeepsTheFirstRules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range usage.MaxTDMRules + 5 {
		fmt.Fprintf(&b, `,{"location":"/%d$","tdm-reservation":1}`, i)
	}
	rules, err := usage.ParseTDM([]byte("[" + b.String()[1:] + "]"))
	require.NoError(t, err)
	require.Len(t, rules, usage.MaxTDMRules)
	require.Equal(t, "/499$", rules[usage.MaxTDMRules-1].Location)
}

func TestAddTDM(t *testing.T) {
	t.Parallel()
	var p usage.Usage
	p.AddTDM(usage.TDMRule{Location: "/"})
	require.Zero(t, p)
	p.AddTDM(usage.TDMRule{Location: "/", Reserved: true, Policy: "https://provider.com/p"})
	require.Equal(t, usage.Usage{TDMReserved: usage.SourceFileTDM, TDMPolicy: "https://provider.com/p"}, p)
}
