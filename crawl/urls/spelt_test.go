package urls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

func TestSpelt(t *testing.T) {
	t.Parallel()
	page, err := urls.Parse("https://example.org/~me/a")
	require.NoError(t, err)
	base := urls.Spelt{URL: page, Target: "/%7eme/a"}
	for ref, want := range map[string]struct{ target, requested string }{
		"/panzer-%50anther":           {"/panzer-Panther", "/panzer-%50anther"},
		"/jos%e9":                     {"/jos%E9", "/jos%e9"},
		"/josé":                       {"/jos%C3%A9", "/jos%C3%A9"},
		"/plain?b=c":                  {"/plain?b=c", "/plain?b=c"},
		"/a|b?x='":                    {"/a%7Cb?x=%27", "/a|b?x=%27"},
		"/100%":                       {"/100%25", "/100%"},
		"/a?":                         {"/a", "/a"},
		"/%2E%2e/x/%2e/y":             {"/x/y", "/x/y"},
		"/.../x":                      {"/.../x", "/.../x"},
		"b":                           {"/~me/b", "/%7eme/b"},
		"":                            {"/~me/a", "/%7eme/a"},
		"?q":                          {"/~me/a?q", "/%7eme/a?q"},
		"#top":                        {"/~me/a", "/%7eme/a"},
		"//example.net/%7E":           {"/~", "/%7E"},
		"/%7E;jsessionid=1?x":         {"/~?x", "/~?x"},
		"/;jsessionid=1":              {"/", "/"},
		"/%7E?utm_source=a&b=c":       {"/~?b=c", "/%7E?b=c"},
		"/?utm_source=a":              {"/", "/"},
		"/%7E?utm%5Fsource=a":         {"/~", "/%7E"},
		"/%7E;%6Asessionid=1":         {"/~", "/~"},
		"https://example.org//x/100%": {"//x/100%25", "//x/100%25"},
		"/.//x/100%":                  {"//x/100%25", "//x/100%25"},
	} {
		to, err := base.Resolve(ref)
		require.NoError(t, err, ref)
		require.Equal(t, want.target, to.URL.RequestTarget(), ref)
		require.Equal(t, want.requested, to.RequestTarget(), ref)
	}
	for ref, want := range map[string]string{
		"/;jsessionid=1":      "/;jsessionid=1",
		"/%7E?utm_source=%61": "/%7E?utm_source=%61",
		"b?":                  "/%7eme/b?",
	} {
		target, err := base.Verbatim(ref)
		require.NoError(t, err, ref)
		require.Equal(t, want, target, ref)
	}
	_, err = base.Resolve("mailto:a@example.org")
	require.ErrorIs(t, err, urls.ErrScheme)
	_, err = base.Verbatim("//user@example.net/")
	require.ErrorIs(t, err, urls.ErrUserinfo)
	var none urls.Spelt
	to, err := none.Resolve("https://example.org/%7E")
	require.NoError(t, err)
	require.Equal(t, "/%7E", to.Target)
}
