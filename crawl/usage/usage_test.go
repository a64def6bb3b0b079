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

const (
	header = usage.SourceHeader
	toUs   = usage.SourceHeaderToken
)

func fromTags(values ...string) usage.Usage {
	var p usage.Usage
	p.AddHeader(http.Header{"X-Robots-Tag": values})
	return p
}

func fromMeta(namesAndContents ...string) usage.Usage {
	var p usage.Usage
	for i := 0; i < len(namesAndContents); i += 2 {
		p.AddMeta(namesAndContents[i], namesAndContents[i+1])
	}
	return p
}

func TestXRobotsTag(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2010, time.June, 25, hour, 0, 0, 0, time.UTC) }
	for why, c := range map[string]struct {
		values []string
		want   usage.Usage
	}{
		"nothing":                 {nil, usage.Usage{}},
		"empty":                   {[]string{"", " ", ",", ":", ",:,"}, usage.Usage{}},
		"Google: one":             {[]string{"noindex"}, usage.Usage{NoIndex: header}},
		"Google: two headers":     {[]string{"noimageindex", "unavailable_after: 25 Jun 2010 15:00:00 PST"}, usage.Usage{NoImageIndex: header, UnavailableAfter: at(23), UnavailableAfterBy: header}},
		"Google: two crawlers":    {[]string{"googlebot: nofollow", "otherbot: noindex, nofollow"}, usage.Usage{}},
		"Google: sum of negative": {[]string{"nofollow", "mosey: noindex"}, usage.Usage{NoFollow: header, NoIndex: toUs}},
		"MDN: crawlers in a list": {[]string{"BadBot: noindex, nofollow, mosey: noarchive"}, usage.Usage{NoArchive: toUs}},
		"ours, then another":      {[]string{"Mosey: noai, noimageai, otherbot: noindex"}, usage.Usage{NoAI: toUs, NoImageAI: toUs}},
		"all, then another":       {[]string{"nosnippet, otherbot: noindex"}, usage.Usage{NoSnippet: header}},
		"next header is for all":  {[]string{"otherbot: noindex", "nofollow"}, usage.Usage{NoFollow: header}},
		"index to us lifts none":  {[]string{"noindex", "mosey: index, all"}, usage.Usage{NoIndex: header}},
		"case and spaces":         {[]string{"  NoIndex ,\tNOFOLLOW"}, usage.Usage{NoIndex: header, NoFollow: header}},
		"spaces and semicolons":   {[]string{"noindex; nofollow noai"}, usage.Usage{NoIndex: header, NoFollow: header, NoAI: header}},
		"none":                    {[]string{"none"}, usage.Usage{NoIndex: header, NoFollow: header}},
		"unknown":                 {[]string{"all, index, follow, noodp, notranslate, noindexes, max-snippet:20, max-image-preview: none"}, usage.Usage{}},
		"a snippet of nothing":    {[]string{"index, MAX-SNIPPET: 0 , nofollow"}, usage.Usage{NoSnippet: header, NoFollow: header}},
		"value is no directive":   {[]string{"max-image-preview:none, nofollow"}, usage.Usage{NoFollow: header}},
		"ours with a version":     {[]string{"mosey/1.2: noindex"}, usage.Usage{NoIndex: toUs}},
		"star":                    {[]string{"*: noindex"}, usage.Usage{NoIndex: header}},
		"part of our name":        {[]string{"moseybot: noindex", "mose: noindex"}, usage.Usage{}},
		"date to us":              {[]string{"mosey: noindex, unavailable_after: 25 Jun 2010 15:00:00 GMT"}, usage.Usage{NoIndex: toUs, UnavailableAfter: at(15), UnavailableAfterBy: toUs}},
		"date to another":         {[]string{"otherbot: unavailable_after: 25 Jun 2010 15:00:00 GMT"}, usage.Usage{}},
		"date with a comma":       {[]string{"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex"}, usage.Usage{NoIndex: header, UnavailableAfter: at(15), UnavailableAfterBy: header}},
		"words before a date":     {[]string{"noindex\u00a0unavailable_after : 2010-06-25T15:00:00Z"}, usage.Usage{NoIndex: header, UnavailableAfter: at(15), UnavailableAfterBy: header}},
		"earliest date":           {[]string{"unavailable_after: 2010-06-25T15:00:00Z", "mosey: unavailable_after: 2010-06-25T14:00:00Z", "unavailable_after: 2011-06-25"}, usage.Usage{UnavailableAfter: at(14), UnavailableAfterBy: toUs}},
		"NUL and invalid UTF-8":   {[]string{"noindex\x00, no\xfffollow, \xff: noai, noarchive", "noai"}, usage.Usage{NoAI: header}},
		"1 MB of one word":        {[]string{strings.Repeat("noindex", 150_000)}, usage.Usage{}},
		"word cut in two":         {[]string{"noai" + strings.Repeat(" ", usage.MaxValueBytes-len("noai,none")) + ",nonexistent"}, usage.Usage{NoAI: header}},
		"1 MB of names":           {[]string{strings.Repeat("a:", 500_000) + "noindex"}, usage.Usage{}},
		"too many headers":        {append(make([]string, usage.MaxValues), "noindex"), usage.Usage{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, fromTags(c.values...))
		})
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	const robots, mosey = usage.SourceMetaRobots, usage.SourceMetaToken
	for why, c := range map[string]struct {
		metas []string
		want  usage.Usage
	}{
		"to all":              {[]string{" Robots ", "noindex, noai"}, usage.Usage{NoIndex: robots, NoAI: robots}},
		"to us":               {[]string{"MOSEY", "noarchive"}, usage.Usage{NoArchive: mosey}},
		"to all and us":       {[]string{"robots", "nofollow", "mosey", "noindex"}, usage.Usage{NoFollow: robots, NoIndex: mosey}},
		"first source stays":  {[]string{"mosey", "noindex", "robots", "noindex"}, usage.Usage{NoIndex: mosey}},
		"to others":           {[]string{"googlebot", "none", "description", "noindex", "", "noindex"}, usage.Usage{}},
		"names are no bots":   {[]string{"robots", "otherbot: noindex"}, usage.Usage{NoIndex: robots}},
		"colon for comma":     {[]string{"robots", "noindex:nofollow"}, usage.Usage{NoIndex: robots, NoFollow: robots}},
		"date":                {[]string{"robots", "unavailable_after: 2010-06-25"}, usage.Usage{UnavailableAfter: time.Date(2010, 6, 25, 0, 0, 0, 0, time.UTC), UnavailableAfterBy: robots}},
		"TDM: reserved":       {[]string{"tdm-reservation", "1", "tdm-policy", "https://provider.com/policies/policy.json"}, usage.Usage{TDMReserved: usage.SourceMetaTDM, TDMPolicy: "https://provider.com/policies/policy.json"}},
		"TDM: not reserved":   {[]string{"tdm-reservation", "0"}, usage.Usage{}},
		"TDM: 0 lifts no 1":   {[]string{"tdm-reservation", " 1 ", "tdm-reservation", "0"}, usage.Usage{TDMReserved: usage.SourceMetaTDM}},
		"TDM: what is no 1":   {[]string{"tdm-reservation", "10", "tdm-reservation", "yes", "tdm-reservation", ""}, usage.Usage{}},
		"TDM: unusable terms": {[]string{"tdm-policy", "javascript:alert(1)", "tdm-policy", "/p", "tdm-policy", "https://a/\x00", "tdm-policy", "https://a/" + strings.Repeat("x", usage.MaxPolicyBytes)}, usage.Usage{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, fromMeta(c.metas...))
		})
	}
}

func TestUnavailableAfterDates(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, time.September, 3, 15, 0, 0, 0, time.UTC)
	for _, date := range []string{
		"3 Sep 2026 15:00:00 GMT", "03 Sep 26 15:00 UT", "Thu, 03 Sep 2026 15:00:00 +0000", "Thursday, 03-Sep-26 15:00:00 UTC",
		"3 September 2026 15:00", "3-Sep-2026 15:00:00", "2026-09-03T15:00:00Z", "2026-09-03T17:00:00+02:00", "2026-09-03T17:00+0200",
		"2026-09-03T15:00:00.000Z", "2026-09-03 15:00", "3 Sep 2026 10:00:00 CDT", "3 sep 2026 08:00:00 pdt", "3 Sep 2026 17:00:00 +0200", "3 Sep 2026 15:00:00 XYZ",
		" 3  Sep 2026\t15:00:00 ",
	} {
		require.Equal(t, want, fromTags("unavailable_after: "+date).UnavailableAfter, date)
	}
	for _, date := range []string{
		"", "soon", "1", "GMT", "31 Feb 2026 15:00:00 GMT", "1969-12-31", "10000-01-01", "9999-12-31T23:00:00-12:00", "0001-01-01",
		"2026-09-03" + strings.Repeat(" ", 99), "15:00:00 GMT", "Thursday",
	} {
		require.Zero(t, fromTags("unavailable_after: "+date), date)
	}
}

func TestContentSignals(t *testing.T) {
	t.Parallel()
	yes := func(by usage.Source) usage.Signal { return usage.Signal{Preference: usage.Yes, Source: by} }
	no := func(by usage.Source) usage.Signal { return usage.Signal{Preference: usage.No, Source: by} }
	const file, answer = usage.SourceRobotsSignals, usage.SourceHeaderSignal
	for why, c := range map[string]struct {
		robots, header []string
		want           usage.ContentSignals
	}{
		"nothing":            {nil, nil, usage.ContentSignals{}},
		"Cloudflare":         {[]string{"search=yes,ai-train=no"}, nil, usage.ContentSignals{Search: yes(file), AITrain: no(file)}},
		"all three":          {nil, []string{"ai-train=yes, search=yes, ai-input=yes"}, usage.ContentSignals{Search: yes(answer), AIInput: yes(answer), AITrain: yes(answer)}},
		"case and spaces":    {[]string{" Search = NO ,AI-Input=\tYes"}, nil, usage.ContentSignals{Search: no(file), AIInput: yes(file)}},
		"no wins, first yes": {[]string{"search=yes, ai-train=yes", "search=yes"}, []string{"search=yes, ai-train=no", "ai-train=yes"}, usage.ContentSignals{Search: yes(file), AITrain: no(answer)}},
		"no within a line":   {[]string{"ai-train=no, ai-train=yes"}, nil, usage.ContentSignals{AITrain: no(file)}},
		"nonsense":           {[]string{"search", "search=", "search=maybe", "=no", "ai_train=no", "/a search=no", "search==no", "\x00search=no", "ai-train=n\xffo"}, nil, usage.ContentSignals{}},
		"too many lines":     {append(make([]string, usage.MaxValues), "search=no"), nil, usage.ContentSignals{}},
		"1 MB":               {[]string{strings.Repeat(",", 1<<20) + "search=no"}, []string{strings.Repeat("search=no", 1<<17)}, usage.ContentSignals{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			var p usage.Usage
			p.AddRobots(c.robots, nil)
			p.AddHeader(http.Header{"Content-Signal": c.header})
			require.Equal(t, usage.Usage{ContentSignals: c.want}, p)
		})
	}
}

func TestContentUsage(t *testing.T) {
	t.Parallel()
	yes := func(by usage.Source) usage.Signal { return usage.Signal{Preference: usage.Yes, Source: by} }
	no := func(by usage.Source) usage.Signal { return usage.Signal{Preference: usage.No, Source: by} }
	const file, answer = usage.SourceRobotsUsage, usage.SourceHeaderUsage
	for why, c := range map[string]struct {
		robots, header []string
		want           usage.ContentSignals
	}{
		"nothing":                {nil, nil, usage.ContentSignals{}},
		"draft-ietf-aipref §6":   {[]string{"train-ai=y, search=n"}, nil, usage.ContentSignals{Search: no(file), AITrain: yes(file)}},
		"all three":              {nil, []string{"train-ai=n,ai-use=n,search=y"}, usage.ContentSignals{Search: yes(answer), AIInput: no(answer), AITrain: no(answer)}},
		"parameters are ignored": {nil, []string{"train-ai=n;until=2030;a"}, usage.ContentSignals{AITrain: no(answer)}},
		"no wins":                {[]string{"train-ai=y"}, []string{"train-ai=n", "train-ai=y"}, usage.ContentSignals{AITrain: no(answer)}},
		"the last of a key":      {[]string{"train-ai=n, train-ai=y"}, nil, usage.ContentSignals{AITrain: yes(file)}},
		"labels of older drafts": {[]string{"genai=n", "tdm=y"}, nil, usage.ContentSignals{AITrain: no(file)}},
		"bots and parts of it":   {[]string{"bots=n, search=y"}, nil, usage.ContentSignals{Search: yes(file), AIInput: no(file), AITrain: no(file)}},
		"no token":               {[]string{`train-ai="n"`, "train-ai=?0", "train-ai=0", "train-ai", "train-ai=no", "train-ai=N", "train-ai=(n)"}, nil, usage.ContentSignals{}},
		"no dictionary":          {[]string{"train-ai=n,", "Train-AI=n", "train-ai = n", "train-ai=n; search=n x", "\x00", "/a train-ai=n"}, nil, usage.ContentSignals{}},
		"others are not touched": {[]string{"foundation=n, train-ai=n"}, nil, usage.ContentSignals{AITrain: no(file)}},
		"too many lines":         {append(make([]string, usage.MaxValues), "search=n"), nil, usage.ContentSignals{}},
		"1 MB":                   {[]string{strings.Repeat("a=n,", 1<<18) + "search=n"}, nil, usage.ContentSignals{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			var p usage.Usage
			p.AddRobots(nil, c.robots)
			p.AddHeader(http.Header{"Content-Usage": c.header})
			require.Equal(t, usage.Usage{ContentSignals: c.want}, p)
		})
	}
}

func TestTDMHeaders(t *testing.T) {
	t.Parallel()
	var p usage.Usage
	h := http.Header{}
	h.Add("Tdm-Reservation", "0, 1") // joined by a proxy
	h.Add("Tdm-Policy", "https://provider.com/policies/policy.json")
	p.AddHeader(h)
	require.Equal(t, usage.Usage{TDMReserved: usage.SourceHeaderTDM, TDMPolicy: "https://provider.com/policies/policy.json"}, p)
}

func TestAddingToAllThereIs(t *testing.T) {
	t.Parallel()
	full := fromTags("none, noarchive, nosnippet, noimageindex, noai, noimageai, unavailable_after: 2026-09-03")
	full.AddHeader(http.Header{
		"Tdm-Reservation": {"1"}, "Tdm-Policy": {"https://a.example/"}, "Content-Signal": {"search=no, ai-input=no, ai-train=no"},
	})
	t.Run("keeps the first source, the earliest date and the last policy", func(t *testing.T) {
		t.Parallel()
		p := full
		p.AddMeta("robots", "none, noai, unavailable_after: 2026-09-02")
		p.AddMeta("tdm-reservation", "1")
		p.AddMeta("tdm-policy", "https://b.example/")
		want := full
		want.UnavailableAfter = want.UnavailableAfter.AddDate(0, 0, -1)
		want.UnavailableAfterBy = usage.SourceMetaRobots
		want.TDMPolicy = "https://b.example/"
		require.Equal(t, want, p)
	})
	t.Run("survives JSON", func(t *testing.T) {
		t.Parallel()
		for _, p := range []usage.Usage{{}, full} {
			data, err := json.Marshal(p)
			require.NoError(t, err)
			var again usage.Usage
			require.NoError(t, json.Unmarshal(data, &again))
			require.Equal(t, p, again)
		}
		data, err := json.Marshal(usage.Usage{})
		require.NoError(t, err)
		require.Equal(t, "{}", string(data))
	})
}

// The terms of service are those of the first link that is of this relation.
func TestTerms(t *testing.T) {
	t.Parallel()
	page, err := urls.Parse("https://a.example/b/c")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		values []string
		want   string
	}{
		"Relative":        {[]string{`</terms>; rel="terms-of-service"`}, "https://a.example/terms"},
		"OneOfSeveral":    {[]string{`<style.css>; rel=stylesheet, <tos>; rel="author Terms-Of-Service"; title="a; b, c"`}, "https://a.example/b/tos"},
		"SecondHeader":    {[]string{`<https://x.example/>; rel=preconnect`, `<https://x.example/tos>;rel=terms-of-service`}, "https://x.example/tos"},
		"InAQuotedTitle":  {[]string{`<p>; title="<q>; rel=terms-of-service"; rel=next`}, ""},
		"OfAnotherScheme": {[]string{`<mailto:a@a.example>; rel=terms-of-service`}, ""},
		"TooLong":         {[]string{`</` + strings.Repeat("x", 8<<10) + `>; rel=terms-of-service`}, ""},
		"Broken":          {[]string{`/tos; rel=terms-of-service`, `<tos`, `<tos>; rel="terms-of-service`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p usage.Usage
			p.AddLinks(page, http.Header{"Link": c.values})
			require.Equal(t, usage.Usage{Terms: c.want}, p)
			if c.want == "" {
				return
			}
			var kept, fresh usage.Usage
			kept.AddStored(p, true)
			require.Equal(t, p, kept, "a 304 may leave the header out")
			fresh.AddStored(p, false)
			require.Empty(t, fresh)
		})
	}
}

// Of several licences that of the nearest source counts, and in a header one of RSL.
func TestLicense(t *testing.T) {
	t.Parallel()
	page, err := urls.Parse("https://a.example/b/c")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		robots, page string
		links        []string
		want         string
		by           usage.Source
	}{
		"Header":     {links: []string{`</rsl.xml>; rel="license"; type="application/rsl+xml"`}, want: "https://a.example/rsl.xml", by: usage.SourceHeaderLicense},
		"Untyped":    {links: []string{`<cc>; rel=license`}, want: "https://a.example/b/cc", by: usage.SourceHeaderLicense},
		"RSLFirst":   {links: []string{`<cc>; rel=license`, `<r>; rel=license; type="Application/RSL+xml"`}, want: "https://a.example/b/r", by: usage.SourceHeaderLicense},
		"Robots":     {robots: "https://x.example/l", want: "https://x.example/l", by: usage.SourceRobotsLicense},
		"OverRobots": {robots: "https://x.example/l", links: []string{`<cc>; rel=license`}, want: "https://a.example/b/cc", by: usage.SourceHeaderLicense},
		"PageFirst": {
			robots: "https://x.example/l", links: []string{`<cc>; rel=license`}, page: "https://y.example/", want: "https://y.example/", by: usage.SourceLinkLicense,
		},
		"Unusable": {robots: "https://", page: "mailto:a@a.example", links: []string{`<mailto:a@a.example>; rel=license`, `<` + strings.Repeat("x", 3000) + `>; rel=license`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p usage.Usage
			p.AddLicense(c.robots, usage.SourceRobotsLicense)
			p.AddLinks(page, http.Header{"Link": c.links})
			p.AddLicense(c.page, usage.SourceLinkLicense)
			require.Equal(t, usage.Usage{License: c.want, LicenseBy: c.by}, p)

			var kept, fresh usage.Usage
			kept.AddStored(p, true)
			fresh.AddStored(p, false)
			require.Equal(t, c.by == usage.SourceRobotsLicense || !c.by.IsSet(), kept.License == "", "robots.txt is known anew at each visit")
			require.Equal(t, c.by != usage.SourceLinkLicense, fresh.License == "", "a new header says what it says now")
		})
	}
}
