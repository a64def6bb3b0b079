package urls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

func TestParseAll(t *testing.T) {
	t.Parallel()

	t.Run("KeepsTheOrderAndWhatRepeats", func(t *testing.T) {
		t.Parallel()
		parsed, err := urls.ParseAll([]string{"https://B.example", "http://a.example/#x", "https://b.example/"})
		require.NoError(t, err)
		var got []string
		for _, u := range parsed {
			got = append(got, u.String())
		}
		require.Equal(t, []string{"https://b.example/", "http://a.example/", "https://b.example/"}, got)
	})

	t.Run("NamesEveryFaultAndKeepsTheRest", func(t *testing.T) {
		t.Parallel()
		parsed, err := urls.ParseAll([]string{"ftp://a.example/", "https://good.example/", "example.org", "https://user@b.example/"})
		require.Len(t, parsed, 1)
		require.Equal(t, "https://good.example/", parsed[0].String())
		for _, want := range []string{"ftp://a.example/", "example.org", "https://…@b.example/", "want an absolute http or https URL"} {
			require.ErrorContains(t, err, want)
		}
		require.NotContains(t, err.Error(), "good.example")
		for _, want := range []error{crawl.ErrInvalid, urls.ErrScheme, urls.ErrUserinfo} {
			require.ErrorIs(t, err, want)
		}
	})

	t.Run("TakesNone", func(t *testing.T) {
		t.Parallel()
		parsed, err := urls.ParseAll(nil)
		require.NoError(t, err)
		require.Empty(t, parsed)
	})
}
