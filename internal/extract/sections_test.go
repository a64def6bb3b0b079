package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/extract"
)

// parts are the headings of a page, each with the beginning of its text.
func parts(page extract.Page) (list []string) {
	for i, s := range page.Sections {
		end := len(page.Main)
		if i+1 < len(page.Sections) {
			end = page.Sections[i+1].At
		}
		list = append(list, fmt.Sprintf("%s: %s", s.Heading, page.Main[s.At:min(s.At+10, end)]))
	}
	return list
}

func TestSections(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		page := mustHTML(t, frame(`<p>Before all `+sentence+sentence+`</p><h1>On  <b>lamps</b></h1><p>First `+sentence+`</p><h2>Oil</h2><h3>Of whales</h3><p>Second `+sentence+`</p><h2>Nothing</h2>`), limits)
		require.Equal(t, []string{"On lamps: First The ", "Oil: Of whales\n", "Of whales: Second The"}, parts(page)[:3])

		page = mustHTML(t, `<h1>A list</h1><a href=/b>b</a> <h2>Of links</h2><a href=/c>c</a>`, limits)
		require.Equal(t, "A list b Of links c", page.Main, "all that is visible")
		require.Equal(t, []string{"A list: b Of links", "Of links: c"}, parts(page))

		page = mustHTML(t, "<h1>Cafe\u0301</h1><p>e\u0301te\u0301 "+sentence+sentence+"<h2>Mu\u0308hle</h2><p>Zwei "+sentence+sentence, limits)
		require.Equal(t, []string{"Café: été The ", "Mühle: Zwei The k"}, parts(page), "composed")

		require.Empty(t, mustHTML(t, "<p>"+sentence+sentence, limits).Sections)
	})
}

func TestSectionsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "<h2>%d %s</h2><p>%s</p>", i, strings.Repeat("words of it ", 12), sentence)
	}
	page := mustHTML(t, b.String()+"<h2>"+strings.Repeat("灯", 100)+"</h2>", extract.Limits{})
	require.Len(t, page.Sections, extract.MaxSections)
	for i, s := range page.Sections {
		require.LessOrEqual(t, len(s.Heading), extract.MaxSectionBytes)
		require.True(t, strings.HasSuffix(s.Heading, " words") || strings.HasSuffix(s.Heading, " of") || strings.HasSuffix(s.Heading, " it"), s.Heading)
		require.True(t, strings.HasPrefix(page.Main[s.At:], sentence[:20]), i)
	}
	page = mustHTML(t, "<h2>"+strings.Repeat("灯", 100)+"</h2><p>"+sentence+sentence, extract.Limits{})
	require.Equal(t, strings.Repeat("灯", 40), page.Sections[0].Heading)
	page = mustHTML(t, "<p>"+strings.Repeat("word ", extract.MaxMainRunes)+"<h2>Beyond</h2><p>"+sentence, extract.Limits{})
	require.Empty(t, page.Sections, "its text is not kept")
}
