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
		require.Equal(t, "Run small-web fetches 1 page again.\n",
			r.Print("recrawl", "--run", "small-web", "--older-than", "30d", "--domain", "a.example"))
		require.Equal(t, "Run small-web fetches 1 page again.\n", r.Print("recrawl", "--run", "small-web", "--older-than", "720h"))
		require.Equal(t, "Run small-web fetches 0 pages again.\n", r.Print("recrawl", "--run", "small-web", "--older-than", "30d"))
		output.ContainsOnSameLine(t, r.Print("queue"), "2 pages pending on 2 domains: 2 due now")
		r.Print("stop", "run:small-web")
		output.ContainsOnSameLine(t, r.Print("recrawl", "--run", "small-web", "--older-than", "1h"), "It is stopped. To resume it:")
	})

	t.Run("FetchesAPageFirst", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}, aPage, aOrigin+"/2", aOrigin+"/3")
		require.Equal(t, "Run small-web fetches 2 pages first.\n",
			r.Print("recrawl", aOrigin+"/3", "https://new.example/", "--run", "small-web"))
		next, err := r.store.Next(t.Context(), aDomain)
		require.NoError(t, err)
		require.Equal(t, aOrigin+"/3", next.Runs[0].Attempt.URL)
		r.Refuse([]string{"recrawl", "no url", "--run", "small-web"}, "no url")
		r.Refuse([]string{"recrawl", aPage, "--run", "small-web", "--delay", "1s"}, "--delay: settings need a separate run")
		r.Print("stop", "run:small-web")
		r.Refuse([]string{"recrawl", aPage, "--run", "small-web"}, `run "small-web" is stopped: resume it first`)
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
		r.Refuse([]string{"recrawl", "--older-than", "1d", aPage}, "give either URLs, --older-than or --outdated")
		r.Refuse([]string{"recrawl", "--older-than", "1d", "--dry-run"}, "--dry-run needs --outdated")
		r.Refuse([]string{"recrawl", "--older-than", "1d", "--for", "1h"}, "--for and --detach need --outdated or --into")
		r.Refuse([]string{"recrawl", "--outdated", "--into", "x"}, "--only and --into need --older-than")
		run := []string{"recrawl", "--older-than", "1d", "--run", "small-web"}
		r.Refuse(append(run, "--only", "words"), `--only must be one of "","pages","images" but got "words"`)
		r.Refuse(append(run, "--only", "images"), "run small-web takes no images")
		r.Refuse(append(run, "--into", "small-web"), "want a different run")
		r.Refuse(append(run, "--into", "no name"), "no name")
		r.Refuse(append(run, "--set", "delay=1s"), "--set delay=1s: settings need a separate run: give --into, or use mosey set run:small-web")
	})
}
