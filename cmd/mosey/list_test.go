package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/output"
)

func TestList(t *testing.T) {
	t.Parallel()

	t.Run("BlocksAndTakesItBack", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.Equal(t, "No entries on the allow or block list.\n", r.Print("list", "show"))
		require.Equal(t, "2 entries on the block list, 2 new.\n",
			r.Print("list", "add", "block", "www.A.example", "192.0.2.7", "--reason", "the owner asked"))
		output.ContainsOnSameLine(t, r.Print("list", "show"), "block", "a.example", command.CurrentUser(), "the owner asked")
		require.Equal(t, "No entries on the allow list.\n", r.Print("list", "show", "allow"))
		output.ContainsOnSameLine(t, r.Print("why", aDomain), "a.example: not crawled: the domain is on the block list (a.example), as set by "+command.CurrentUser()+": the owner asked")
		output.ContainsOnSameLine(t, r.Print("domain", aDomain), "control", "it is on the block list (a.example): set by "+command.CurrentUser())
		require.Equal(t, "1 entry removed from the block list.\n", r.Print("list", "remove", "block", aDomain))
		r.Fail([]string{"list", "remove", "block", aDomain}, `nothing to remove from the block list: ["a.example"]: mosey list show block shows the entries`)
		require.NotContains(t, r.Print("why", aDomain), "list")
		require.Equal(t, "1 entry removed from the block list.\n", r.Print("list", "remove", "block", "--all"))
		r.Fail([]string{"list", "remove", "block", "--all"}, "nothing to remove from the block list")
	})

	t.Run("SaysWhatTheFirstEntryOfTheAllowListDoes", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.Equal(t, "1 entry on the allow list, 1 new.\n"+
			"All runs now crawl only the hosts of the allow list. To undo it:\n  mosey list remove allow --all\n",
			r.Print("list", "add", "allow", "example.org"))
		require.Equal(t, "1 entry on the allow list, 1 new.\n", r.Print("list", "add", "allow", "example.net"))
		output.ContainsOnSameLine(t, r.Print("why", aDomain), "a.example: not crawled: the domain is not on the allow list")
	})

	t.Run("ImportsFilesWithBadLines", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		file := r.WriteFile("hosts", "# a hosts file\n0.0.0.0 ads.example.org\n\nhttp://no/path\n*.example.net # all\n")
		done := r.Execute("list", "add", "block", "--file", file)
		require.Zero(t, done.Code)
		require.Equal(t, "2 entries on the block list, 2 new.\n", done.Stdout)
		require.Contains(t, done.Stderr, file+`:4 skipped: invalid input: entry "http://no/path": want a host`)
		first, _, _ := strings.Cut(r.Print("list", "show", "block", "--json"), "\n")
		var e db.ListEntry
		require.NoError(t, json.Unmarshal([]byte(first), &e))
		require.Equal(t, "*.example.net", e.Entry)
		require.Equal(t, file, e.Reason)
	})

	t.Run("RefusesWhatIsNoEntry", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Refuse([]string{"list", "add", "block", "https://example.org/a"}, `entry "https://example.org/a": want a host (shop.example.org)`)
		h.Refuse([]string{"list", "add", "both", "example.org"}, `"allow","block"`)
		h.Refuse([]string{"list", "add", "block"}, "give entries, such as example.org, or --file")
		h.Refuse([]string{"list", "remove", "block"}, "give entries, such as example.org, or --all")
		h.Refuse([]string{"list", "add", "block", "--file", "no-such-file"}, "list file: open no-such-file")
	})
}
