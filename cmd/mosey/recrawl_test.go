package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestRecrawl(t *testing.T) {
	t.Parallel()

	t.Run("MakesWhatIsOldPending", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}, aPage, aOrigin+"/new", "https://b.example/")
		r.exec("UPDATE page_crawls SET outcome = 'success', completed_at = now()")
		r.exec("UPDATE pages SET status = 'fetched', fetched_at = now() - CASE WHEN url LIKE '%/new' THEN interval '1 day' ELSE interval '40 days' END")
		require.Equal(t, "1 page of run small-web to fetch again.\n",
			r.Print("recrawl", "--run", "small-web", "--older-than", "30d", "--domain", "a.example"))
		require.Equal(t, "1 page of run small-web to fetch again.\n", r.Print("recrawl", "--run", "small-web", "--older-than", "720h"))
		require.Equal(t, "0 pages of run small-web to fetch again.\n", r.Print("recrawl", "--run", "small-web", "--older-than", "30d"))
		output.ContainsOnSameLine(t, r.Print("queue"), "2 pages pending on 2 domains: 2 due now")
		r.Print("stop", "run:small-web")
		output.ContainsOnSameLine(t, r.Print("recrawl", "--run", "small-web", "--older-than", "1h"), "It is stopped. To have it go on:")
	})

	t.Run("RefusesWhatIsNone", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		for _, age := range []string{"30", "d", "-3d", "-1h", "1.5d", "99999d"} {
			r.Refuse([]string{"recrawl", "--older-than=" + age}, `--older-than "`+age+`": want a number and a unit, such as 30d or 12h`)
		}
		r.Refuse([]string{"recrawl", "--older-than", "1d", "--run", "nobody"}, `run "nobody" does not exist`)
		r.Refuse([]string{"recrawl"}, "--older-than")
		r.Refuse([]string{"recrawl", "--older-than", "1d", "--outdated"}, "--older-than and --outdated")
		r.Refuse([]string{"recrawl", "--older-than", "1d", "--dry-run"}, "are for --outdated")
	})
}
