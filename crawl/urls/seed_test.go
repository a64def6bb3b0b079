package urls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

func TestParseSeed(t *testing.T) {
	t.Parallel()

	t.Run("TakesAHostForAPageOfHTTPS", func(t *testing.T) {
		t.Parallel()
		for raw, want := range map[string]string{
			"http://a.example/b":  "http://a.example/b",
			"a.example":           "https://a.example/",
			"\tWWW.A.Example.\r":  "https://www.a.example/",
			"a.example/b?c=d#e":   "https://a.example/b?c=d",
			"a.example:8443/b":    "https://a.example:8443/b",
			"192.0.2.7":           "https://192.0.2.7/",
			"[2001:db8::1]:8443":  "https://[2001:db8::1]:8443/",
			"localhost:8080":      "https://localhost:8080/",
			"bücher.example/über": "https://xn--bcher-kva.example/%C3%BCber",
		} {
			u, err := urls.ParseSeed(raw)
			require.NoError(t, err, raw)
			require.Equal(t, want, u.String())
		}
	})

	t.Run("RefusesWhatIsNoHost", func(t *testing.T) {
		t.Parallel()
		for raw, want := range map[string]error{
			"":                          urls.ErrScheme,
			"word":                      urls.ErrScheme,
			"a b.example":               urls.ErrScheme,
			"1,a.example":               urls.ErrScheme,
			"tel:123":                   urls.ErrScheme,
			"javascript:alert(1)":       urls.ErrScheme,
			"ftp://a.example/":          urls.ErrScheme,
			"/etc.d/seeds":              urls.ErrScheme,
			"./a.example":               urls.ErrScheme,
			"a.example:port":            urls.ErrScheme,
			"site.onion":                urls.ErrHost,
			"user:pw@a.example":         urls.ErrUserinfo,
			"you@a.example":             urls.ErrUserinfo,
			"https://user:pw@a.example": urls.ErrUserinfo,
		} {
			_, err := urls.ParseSeed(raw)
			require.ErrorIs(t, err, want, raw)
			require.NotContains(t, err.Error(), "pw")
		}
	})
}

func TestIsRegistered(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"example.org": true, "example.co.uk": true, "me.github.io": true, "192.0.2.7": true, "[2001:db8::1]": true,
		"seeds.txt": false, "seeds.example": false, "localhost": false, "org": false, "co.uk": false,
	} {
		u, err := urls.Parse("https://" + host)
		require.NoError(t, err)
		require.Equal(t, want, u.IsRegistered(), host)
	}
	require.False(t, urls.URL{}.IsRegistered())
}
