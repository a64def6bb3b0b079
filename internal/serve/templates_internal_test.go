package serve

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/search"
)

// views are one of each page, empty.
func views() map[string]view {
	return map[string]view{
		"overview": &Overview{}, "run": &RunView{}, "domains": &DomainsView{}, "domain": &DomainView{}, "url": &URLView{},
		"images": &ImagesView{}, "live": &LiveView{}, "robots": &RobotsView{}, "search": &SearchView{},
	}
}

// somewhen is the value of all times.
var somewhen = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// fill sets every text field to text, and gives every list one element.
func fill(v reflect.Value, text string, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(somewhen))
		return
	case json.RawMessage:
		data, err := json.Marshal(text)
		if err != nil {
			panic(err) // a text always can be
		}
		v.SetBytes(data)
		return
	case crawl.ControlType:
		v.SetString(string(crawl.ControlPause))
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() {
			text = crawl.CleanText(text, 3*len(text)) // one of our own words, such as a status
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(value, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, text, depth+1)
		}
	}
}

// skeleton is the markup of a page, without what a person reads.
func skeleton(t *testing.T, page []byte) (tags []string) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		switch n.Type {
		case html.ElementNode:
			tag := []string{n.Data}
			for _, a := range n.Attr {
				tag = append(tag, a.Key)
				if a.Key == "href" || a.Key == "src" || a.Key == "action" {
					scheme, _, found := strings.Cut(strings.ToLower(strings.TrimSpace(a.Val)), ":")
					require.False(t, found && slices.Contains([]string{"javascript", "data", "vbscript"}, scheme), a.Val)
				}
				require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style", "%s of %s", a.Key, n.Data)
			}
			tags = append(tags, strings.Join(tag, " "))
		case html.CommentNode:
			tags = append(tags, "comment")
		}
	}
	return tags
}

// templatesOf makes a server of which only the templates are used.
func templatesOf(tb testing.TB) *Server {
	tb.Helper()
	s, err := New(Config{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return somewhen }})
	require.NoError(tb, err)
	return s
}

func rendered(t *testing.T, s *Server, name, text string) []byte {
	t.Helper()
	v := views()[name]
	fill(reflect.ValueOf(v).Elem(), text, 0)
	v.common().By = "ann"
	if r, is := v.(*RobotsView); is {
		r.Pasted = "User-agent: *" // a person's own
	}
	if r, is := v.(*RunView); is {
		r.Status = crawl.RunRunning
		r.Set = setOf(r.Run)
		r.Changes[0].OldValues = map[string]json.RawMessage{"delay": json.RawMessage(`"10s"`)} // which is set back as it was
	}
	if d, is := v.(*DomainsView); is {
		d.Asked, d.Sorts = "status=active", report.DomainSorts
	}
	var b bytes.Buffer
	err := s.templates[name].ExecuteTemplate(&b, "frame.html", pageData{
		Title: "a page", Sentence: "It is.", Page: name, JSON: "/api/x", Events: "/events/x", View: v,
	})
	require.NoError(t, err)
	return b.Bytes()
}

// FuzzTemplates checks that no text of a site changes the markup of a page or hides anything in it.
func FuzzTemplates(f *testing.F) {
	for _, text := range []string{
		"plain", `"><script>alert(1)</script>`, "' onmouseover='alert(1)", "javascript:alert(1)", "</title></style></textarea><img src=x>",
		"{{.}}", "<!--", "\x1b[2J\u202eabc\x00", "a\nb", "&lt;b&gt;", "data:text/html,x", "]]>", "\xff\xfe",
	} {
		f.Add(text)
	}
	s := templatesOf(f)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(crawl.CleanText(text, 1000)) == "" || len(text) > 2000 {
			return // it takes the place of nothing
		}
		for name := range views() {
			got := rendered(t, s, name, text)
			require.Equal(t, skeleton(t, rendered(t, s, name, "plain")), skeleton(t, got), name)
			at := bytes.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' })
			if at >= 0 {
				require.Fail(t, "something hidden", "%s: %q", name, got[max(0, at-200):min(len(got), at+50)])
			}
		}
	})
}

// Every time on a page names its zone.
func TestTimesNameTheirZone(t *testing.T) {
	t.Parallel()
	s := templatesOf(t)
	stamps := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.{0,4}`)
	for name := range views() {
		for _, at := range stamps.FindAllString(string(rendered(t, s, name, "plain")), -1) {
			require.True(t, strings.HasSuffix(at, " UTC"), "%s: %s", name, at)
		}
	}
}

func TestSearchResultsAreNumberedFromOne(t *testing.T) {
	t.Parallel()
	s := templatesOf(t)
	for offset, want := range map[int]string{0: `<ol class="results" start="1">`, 10: `<ol class="results" start="11">`} {
		var b bytes.Buffer
		require.NoError(t, s.templates["search"].ExecuteTemplate(&b, "frame.html", pageData{View: &SearchView{Offset: offset, Answer: search.Answer{Results: make([]search.Result, 1)}}}))
		require.Contains(t, b.String(), want)
	}
}

// A chart begins with the first attempt, and its lines are at round counts.
func TestColumns(t *testing.T) {
	t.Parallel()
	v := Over{span: timeSpans[0]}
	for i := range 60 {
		in := report.OutcomeSpan{BeganAt: somewhen.Add(time.Duration(i) * time.Minute)}
		if i >= 40 {
			in.Outcomes = map[crawl.Outcome]int64{crawl.OutcomeSuccess: 70}
		}
		v.Spans = append(v.Spans, in)
	}
	c := v.Chart()
	require.Equal(t, "12:40", c.Ticks[0].Text)
	require.Len(t, c.Bars, 20)
	var names []string
	for _, l := range c.Lanes {
		names = append(names, l.Name)
	}
	require.Equal(t, []string{"0", "20", "40", "60", "80"}, names)
	v.Spans = v.Spans[:40]
	require.Len(t, v.Chart().Lanes, 2, "without an attempt")
	require.Len(t, v.Chart().Ticks, 7)
}
