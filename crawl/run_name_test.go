package crawl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestValidateRunName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "7", "small-web", "2026.11_x", "A-", strings.Repeat("x", crawl.RunNameMax)} {
		require.NoError(t, crawl.ValidateRunName(name), name)
	}
	for _, name := range []string{
		"", "-a", ".a", "_a", "a b", "a/b", "a\n", "\na", "ü", "aü", "a%", "a:b", "../x", "a\x00",
		strings.Repeat("x", crawl.RunNameMax+1), strings.Repeat("ü", crawl.RunNameMax),
	} {
		require.ErrorIs(t, crawl.ValidateRunName(name), crawl.ErrInvalid, "%q", name)
	}
}
