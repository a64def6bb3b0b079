package urls_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Browsers' own conformance tests: a URL that a browser refuses is refused, and
// one that it accepts has the canonical form of the browser's result, unless we
// are stricter by design.
func TestParseWebPlatformTests(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/wpt_urls.json")
	require.NoError(t, err)
	var cases []struct {
		Input, Base, Href string
		Failure           bool
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.Greater(t, len(cases), 400)

	stricter := 0
	for _, c := range cases {
		got, err := resolveOrParse(c.Base, c.Input)
		if c.Failure {
			require.Error(t, err, "input %q base %q gave %v", c.Input, c.Base, got)
			continue
		}
		want, wantErr := urls.Parse(c.Href)
		if wantErr != nil {
			require.Error(t, err, "input %q base %q", c.Input, c.Base)
			stricter++
			require.True(t, errors.Is(wantErr, urls.ErrUserinfo) || errors.Is(wantErr, urls.ErrHost) ||
				strings.Contains(c.Href, ":0/"), "%q: %v", c.Href, wantErr)
			continue
		}
		address, addrErr := netip.ParseAddr(want.Host())
		encoded := addrErr == nil && address.Is4() && errors.Is(err, urls.ErrHost)
		if encoded || errors.Is(err, urls.ErrUserinfo) { // the latter present, but empty
			stricter++
			continue
		}
		require.NoError(t, err, "input %q base %q", c.Input, c.Base)
		require.Equal(t, want, got, "input %q base %q", c.Input, c.Base)
	}
	t.Logf("%d cases, stricter than a browser in %d", len(cases), stricter)
}

func resolveOrParse(base, ref string) (urls.URL, error) {
	if base == "" {
		return urls.Parse(ref)
	}
	u, err := urls.Parse(base)
	if err != nil {
		return urls.URL{}, err
	}
	return u.Resolve(ref)
}
