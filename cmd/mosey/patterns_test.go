package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// Patterns come one by one or with commas, from wherever flags come; empty takes them
// back, and not given leaves them.
func TestPatternsOfURLs(t *testing.T) {
	t.Parallel()
	excluded := func(env wiring.Env, args ...string) *[]string {
		t.Helper()
		var cli struct {
			Crawl crawlCmd `cmd:""`
		}
		parser, err := wiring.NewParser(&cli, env, nil)
		require.NoError(t, err)
		_, err = parser.Parse(append([]string{"crawl"}, args...))
		require.NoError(t, err)
		return cli.Crawl.settings().Exclude
	}
	require.Nil(t, excluded(nil))
	require.Equal(t, &[]string{"/a", "/b", "/c?d=e"}, excluded(nil, "--exclude", "/a,/b", "--exclude=/c?d=e"))
	require.Equal(t, &[]string{"/a", "/b"}, excluded(wiring.Env{"MOSEY_EXCLUDE=/a,/b"}))
	require.Empty(t, *excluded(nil, "--exclude="))
	require.NotNil(t, excluded(nil, "--exclude="))
}
