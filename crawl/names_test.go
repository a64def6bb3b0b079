package crawl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestAgentOf(t *testing.T) {
	t.Parallel()
	for userAgent, want := range map[string]string{
		"mosey":                        "mosey",
		"Mosey/1.0":                    "mosey",
		"mosey/1.0 (+https://x/)":      "mosey",
		"my_Own-Bot (someone@example)": "my_own-bot",
		"bot\tx":                       "bot",
		"a/b/c":                        "a",
		"two words":                    "two",
	} {
		got, err := crawl.AgentOf(userAgent)
		require.NoError(t, err, userAgent)
		require.Equal(t, want, got, userAgent)
	}
	for _, userAgent := range []string{"", " mosey", "/1.0", "(mosey)", "bot2/1.0", "mosey;q", "möwe/1", "*", "a.b", "a\n", "a\x00"} {
		_, err := crawl.AgentOf(userAgent)
		require.ErrorIs(t, err, crawl.ErrInvalid, "%q", userAgent)
	}
}

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
