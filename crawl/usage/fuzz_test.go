package usage_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
)

// requireSane holds whatever was read.
func requireSane(t *testing.T, p usage.Usage) {
	t.Helper()
	require.LessOrEqual(t, len(p.TDMPolicy), usage.MaxPolicyBytes)
	require.LessOrEqual(t, len(p.Terms), usage.MaxPolicyBytes)
	require.LessOrEqual(t, len(p.License), usage.MaxPolicyBytes)
	require.Equal(t, p.License == "", !p.LicenseBy.IsSet())
	require.Equal(t, p.UnavailableAfter.IsZero(), !p.UnavailableAfterBy.IsSet())
	data, err := json.Marshal(p)
	require.NoError(t, err)
	var again usage.Usage
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, p, again)
}

func FuzzXRobotsTag(f *testing.F) {
	for _, s := range []string{
		"noindex", "otherbot: noindex, mosey: none", "unavailable_after: 25 Jun 2010 15:00:00 PST", "unavailable_after: Fri, 25-Jun-10 15:00:00 UTC, noai",
		"a:b:c:noindex", "noindex unavailable_after : 2010-06-25T15:00:00.1+23:59", ",:;\x00\xff\u00a0", "max-snippet:1,nofollow",
	} {
		f.Add(s, "noarchive")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		p := fromTags(first, second)
		requireSane(t, p)
		requireSane(t, fromMeta("robots", first, "tdm-reservation", second, "tdm-policy", second))

		// A further header never makes it less restrictive.
		alone := fromTags(first)
		now := time.Date(2026, time.September, 3, 0, 0, 0, 0, time.UTC)
		before, _ := usage.Indexable(alone, now)
		after, _ := usage.Indexable(p, now)
		require.False(t, after && !before)
		alone.AddHeader(http.Header{"X-Robots-Tag": {second}})
		require.Equal(t, p, alone)
	})
}

func FuzzLink(f *testing.F) {
	for _, s := range []string{`</tos>; rel="terms-of-service"`, `<l>; rel=license, </r>; rel=license; type="application/rsl+xml"`, `<a>; title="x, <y>; rel=\"z", <b>; REL=terms-of-service`, `<`, `<>;`, `<a>;";\`, "<\xff>; rel=\x00"} {
		f.Add(s)
	}
	page, err := urls.Parse("https://a.example/b/")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, value string) {
		var p usage.Usage
		p.AddLinks(page, http.Header{"Link": {value}})
		requireSane(t, p)
	})
}

func FuzzContentSignal(f *testing.F) {
	for _, s := range []string{"search=yes, ai-train=no", "AI-Input = No", "search=,=no,ai-train", "search=yes,search=no", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		var file, header usage.Usage
		file.AddRobots([]string{list}, nil)
		header.AddHeader(http.Header{"Content-Signal": {list}})
		requireSane(t, file)
		require.Equal(t, file.ContentSignals.Search.Preference, header.ContentSignals.Search.Preference)
		require.Contains(t, []usage.Preference{usage.Unset, usage.Yes, usage.No}, file.ContentSignals.AITrain.Preference)
	})
}

func FuzzContentUsage(f *testing.F) {
	for _, s := range []string{"train-ai=n, search=y", "bots=n", "a=(b c);d, search=n", "train-ai=n;x=?1", ",", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		var file, header usage.Usage
		file.AddRobots(nil, []string{list})
		header.AddHeader(http.Header{"Content-Usage": {list}})
		requireSane(t, file)
		require.Equal(t, file.ContentSignals.Search.Preference, header.ContentSignals.Search.Preference)
		require.Contains(t, []usage.Preference{usage.Unset, usage.Yes, usage.No}, file.ContentSignals.AITrain.Preference)
	})
}

func FuzzParseTDM(f *testing.F) {
	for _, s := range []string{w3cFile, `[{"location":"/*a*$","tdm-reservation":"1"}]`, `[null]`, `{}`, "\xef\xbb\xbf[]", `[{"location":"\ud800%","tdm-reservation":1}]`} {
		f.Add([]byte(s), "/directory-a/x?y")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		rules, err := usage.ParseTDM(body)
		if err != nil {
			require.Empty(t, rules)
			return
		}
		require.LessOrEqual(t, len(rules), usage.MaxTDMRules)
		rule, _ := rules.Match(path, func(pattern, path string) bool { return strings.HasPrefix(path, pattern) })
		var p usage.Usage
		p.AddTDM(rule)
		require.Equal(t, rule.Reserved, p.TDMReserved.IsSet())
		requireSane(t, p)

		data, err := json.Marshal(rules)
		require.NoError(t, err)
		var again usage.TDM
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, rules, again)
	})
}
