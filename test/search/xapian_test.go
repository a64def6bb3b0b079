package search_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// xapian is the same documents in an index of Xapian.
type xapian struct {
	dir string
	// titles has the words of a query also found in titles, which omindex indexes apart.
	titles bool
	// or finds documents with one of the words.
	or bool
	// found remembers the answers.
	found map[string][]string
}

// The environment in which Chinese, Japanese and Korean are cut into pairs and single
// characters, for documents and for queries.
var ngrams = append(os.Environ(), "XAPIAN_CJK_NGRAM=1")

// newXapian indexes documents with omindex and its defaults.
func newXapian(t *testing.T, docs []*document) *xapian {
	t.Helper()
	for _, name := range []string{"omindex", "quest"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not there: apt-get install --no-install-recommends %s", name, packages)
		}
	}
	x := &xapian{dir: filepath.Join(t.TempDir(), "xapian"), titles: true, found: map[string][]string{}}
	of := map[*manual][]*document{}
	for _, d := range docs {
		of[d.manual] = append(of[d.manual], d)
	}
	for m, docs := range of {
		// a directory of only these files
		dir := t.TempDir()
		for _, d := range docs {
			name := filepath.Join(dir, strings.TrimPrefix(d.url, m.url))
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, d.body, 0o600))
		}
		cmd := exec.CommandContext(t.Context(), "omindex", "--db", x.dir, "--url", m.url, "--no-delete", dir)
		cmd.Env = ngrams
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return x
}

// xapianMost is the limit of results to read. Most of them are folded away.
const xapianMost = 300

// search returns the URLs that a query finds, the best first. A host restricts the results to it.
func (x *xapian) search(ctx context.Context, query, host string, most int) ([]string, error) {
	op := "and"
	if x.or {
		op = "or"
	}
	key := fmt.Sprint(x.titles, op, host, query)
	if found, known := x.found[key]; known {
		return found[:min(len(found), most)], nil
	}
	args := []string{"--db", x.dir, "--stemmer", "english", "--default-op", op, "--msize", strconv.Itoa(xapianMost)}
	if x.titles {
		args = append(args, "--prefix", ":", "--prefix", ":S")
	}
	if host != "" {
		args = append(args, "--boolean-prefix", "site:H")
		query = "site:" + host + " " + query
	}
	cmd := exec.CommandContext(ctx, "quest", append(args, query)...)
	cmd.Env = ngrams
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range bytes.Lines(out) {
		if u, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("url=")); is {
			found = append(found, string(u))
		}
	}
	x.found[key] = found
	return found[:min(len(found), most)], nil
}

// hostOf is the host of a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
