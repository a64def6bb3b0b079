package robots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/robots"
)

// w3cFile is the second example of the TDM Reservation Protocol.
const w3cFile = `[
	{"location": "/directory-a/", "tdm-reservation": 1},
	{"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy":"https://provider.com/policies/policy.json"},
	{"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}
]`

// The rules of a tdmrep.json bind the paths that those of a robots.txt would.
func TestTDMMatch(t *testing.T) {
	t.Parallel()
	const policy = "https://provider.com/policies/policy.json"
	for _, c := range []struct {
		file, path string
		want       usage.TDMRule
		matched    bool
	}{
		{`[{"location": "/", "tdm-reservation": 1}]`, "/a?b", usage.TDMRule{Location: "/", Reserved: true}, true},
		{w3cFile, "/directory-a/x.pdf", usage.TDMRule{Location: "/directory-a/", Reserved: true}, true},
		{w3cFile, "/directory-b/html/a", usage.TDMRule{Location: "/directory-b/html/", Reserved: true, Policy: policy}, true},
		{w3cFile, "/directory-b/images/1/a.jpg", usage.TDMRule{Location: "/directory-b/images/*.jpg"}, true},
		{w3cFile, "/directory-b/images/a.png", usage.TDMRule{}, false},
		{w3cFile, "/Directory-A/x.pdf", usage.TDMRule{}, false},
		{w3cFile, "/", usage.TDMRule{}, false},
		{`[{"location":"/a$","tdm-reservation":1}]`, "/ab", usage.TDMRule{}, false},
		{`[{"location":"/path/foo-%24","tdm-reservation":1}]`, "/path/foo-$", usage.TDMRule{Location: "/path/foo-%24", Reserved: true}, true},
		{`[{"location":"/a","tdm-reservation":0},{"location":"/a/b","tdm-reservation":1}]`, "/a/b", usage.TDMRule{Location: "/a"}, true},
		{`[]`, "/", usage.TDMRule{}, false},
	} {
		rules, err := usage.ParseTDM([]byte(c.file))
		require.NoError(t, err, c.file)
		rule, matched := rules.Match(c.path, robots.Match)
		require.Equal(t, c.matched, matched, c.path)
		require.Equal(t, c.want, rule, c.path)
	}
}
