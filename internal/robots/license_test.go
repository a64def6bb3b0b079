package robots_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

func TestLicense(t *testing.T) {
	t.Parallel()
	const a, b = "https://a.example/license.xml", "http://b.example/l?x=1&y"
	for text, want := range map[string]string{
		"License: " + a + "\nUser-agent: *\nDisallow: /x\n":                                                  a,
		"license : " + b + " # ours\n":                                                                       b,
		"User-agent: *\nDisallow: /x\n\nLicense: " + a:                                                       a,
		"License: " + a + "\nUser-agent: *\nLicense: " + b + "\nDisallow: /x\n":                              b,
		"User-agent: *\nDisallow: /x\nUser-agent: other\nLicense: " + a:                                      a,
		"License: " + a + "\nLicense: " + b:                                                                  a,
		"License: /license.xml\nLicense: " + b:                                                               b,
		"License: ftp://a.example/\nLicense: https://\nLicense:\nLicense: MIT\n":                             "",
		"License: https://a.example/" + strings.Repeat("x", robots.MaxLicenseBytes):                          "",
		"License: https://a.example/\x00\n":                                                                  "https://a.example/",
		"License: https://a.example/\x00b\n":                                                                 "https://a.example/%00b",
		"User-agent: *\nAllow: /\n":                                                                          "",
		"User-agent: mosey\nUser-agent: other\nLicense: " + a + "\nDisallow: /x\nUser-agent: *\nDisallow: /": a,
	} {
		rules := robots.Parse([]byte(text)).Rules("mosey")
		require.Equal(t, want, rules.License(), text)
		restored := robots.Restore(rules.String())
		require.Equal(t, want, restored.License(), "%s restored", text)
		require.Equal(t, rules.String(), restored.String())
		require.Equal(t, rules.Decide("/x"), restored.Decide("/x"), "the lines of rules are as they were")
	}
	require.Empty(t, new(robots.Rules).License())
}
