package manners_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
)

// Each case stands for itself: its name is a host, and a reader can look its source up.
func TestCases(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	opts := manners.Options{Agent: "examplebot", Port: 80}
	for _, c := range manners.Cases() {
		require.LessOrEqual(t, len(c.ID), 63, c.ID)
		require.NotEmpty(t, c.Title, c.ID)
		require.NotEmpty(t, c.Source, c.ID)
		require.Contains(t, manners.Groups(), c.Group, c.ID)
		require.Contains(t, []manners.Level{manners.Must, manners.Should, manners.Opinion}, c.Level, c.ID)
		require.Equal(t, c.ID+".test", c.Hosts(opts)[0])
		for _, host := range c.Hosts(opts) {
			require.Empty(t, seen[host], host)
			seen[host] = c.ID
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := manners.New(manners.Options{Agent: "two words", Delay: -1, Only: []string{"nothing"}})
	require.ErrorContains(t, err, "two words")
	require.ErrorContains(t, err, "delay")
	require.ErrorContains(t, err, `case "nothing"`)
}

// A log without a request passes no case.
func TestNothingSeen(t *testing.T) {
	t.Parallel()
	suite, err := manners.New(manners.Options{Agent: "examplebot"})
	require.NoError(t, err)
	judged := suite.Judge(nil, nil)
	require.Len(t, judged, len(manners.Cases()))
	for _, j := range judged {
		require.Equal(t, manners.Unreached, j.Result, j.ID)
	}
}
