package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/dbtest"
)

// A person with a login that may only read has all commands that only read.
func TestReadersLogin(t *testing.T) {
	t.Parallel()
	r := newExported(t)
	dbtest.WriteKeywords(t, r.store)
	h := newHarness(t)
	h.Setenv("DATABASE_URL", dbtest.Login(t, r.store.Pool().Config().ConnString(), "mosey_reader"))

	for _, args := range [][]string{
		{"search", "first"},
		{"search", "no such word"},
		{"status"},
		{"status", "small-web"},
		{"queue"},
		{"queue", "--run", "small-web"},
		{"domains"},
		{"domains", "--sort", "errors", "--json"},
		{"domain", aDomain},
		{"page", aPage},
		{"why", aPage},
		{"why", aDomain},
		{"links", aPage},
		{"links", aDomain},
		{"crawls", "--domain", aDomain},
		{"list", "show"},
		{"images"},
		{"images", "duplicates"},
		{"export", "pages", "--out", "-", "--format", "jsonl"},
		{"export", "links", "--out", "-", "--format", "jsonl"},
		{"export", "crawls", "--out", "-", "--format", "jsonl"},
		{"export", "domains", "--out", "-", "--format", "jsonl"},
		{"export", "images", "--out", "-", "--format", "jsonl"},
		{"export", "provenance", "--out", "-", "--format", "jsonl"},
	} {
		done := h.Execute(args...)
		require.Zero(t, done.Code, "%v: %s", args, done.Stderr)
	}
	// the rows were made in no time, which an audit does not let pass
	h.Fail([]string{"audit"}, "the audit found violations")

	for _, args := range [][]string{
		{"pause", aDomain, "--reason", "a quiet night"},
		{"set", aDomain, "--delay", "1m"},
		{"list", "add", "block", "b.example", "--reason", "asked"},
		{"rank"},
		{"seed", "https://c.example/"},
	} {
		done := h.Execute(args...)
		require.NotZero(t, done.Code, args)
		require.Contains(t, done.Stderr, "permission denied", "%v: %s", args, done.Stderr)
	}

	served := h.Start("serve", "--read-only", "--web", "127.0.0.1:0")
	page := served.Field("Web page")
	for _, path := range []string{"", "domains", "search?q=first", "domains/" + aDomain, "images", "runs/small-web"} {
		answer, err := http.Get(page + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
	}
	require.Zero(t, served.Stop().Code)
}
