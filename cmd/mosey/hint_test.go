package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/settings"
)

// A command that a text names works when it is copied: it has the --data-dir that was given.
func TestHintsRepeatTheDataDirectory(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{})
	r.dirFlag = true
	at := "mosey --data-dir " + r.dir + " "
	require.Contains(t, r.Print("pause", "run:small-web", "--reason", "x"), "To undo it:\n  "+at+"resume run:small-web\n")
	var change command.Change
	r.Decode(&change, "stop", "run:small-web", "--json")
	require.Contains(t, change.Message, "To resume it: "+at+"resume run:small-web")
	require.Contains(t, r.Print("status", "small-web"), "Settings ("+at+"set run:NAME key=value)")
	require.Contains(t, r.Print("seed", aPage+"third"), "To crawl them:\n  "+at+"crawl --run default\n")
	r.Refuse([]string{"resume", "run:nobody"}, `run "nobody" does not exist; `+at+"status lists all")
	r.Refuse([]string{"status", "nobody", "--json"}[:2], at+"status lists all")
	require.Contains(t, r.Execute("status", "nobody", "--json").Stderr, `"error":"run \"nobody\" does not exist; `+at+"status lists all\"")
	r.Refuse([]string{"set", "run:small-web", "nothing=1"}, "mosey set --help and docs")

	r.dirFlag = false // what the environment says holds for the next command too
	require.Contains(t, r.Print("resume", "run:small-web"), "  mosey crawl --run small-web")
}

// A crawl by another Mosey prints where that shows it, and commands that find it.
func TestDetachedCrawl(t *testing.T) {
	t.Parallel()
	newHarnessWithStack(t)
	h, s := newHarness(t), newSite(t, 1, 3)
	h.dir, h.dirFlag = temporalStack.dir, true
	worker := newHarness(t)
	worker.Setenv("DATABASE_URL", temporalStack.info.DatabaseURL)
	worker.Setenv("TEMPORAL_ADDRESS", temporalStack.info.TemporalAddress)
	worker.Start(append([]string{"up"}, s.flags()...)...).Await("Ready.")

	c := h.Start(s.crawl(s.Seeds()[0], "--detach", "--run", "detached", "--delay", "1h")...)
	page := c.Field("Web page: ")
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/runs/detached$`, page)
	require.Contains(t, temporalStack.out.String(), page[:len(page)-len("/runs/detached")])
	require.Equal(t, temporalStack.info.UIURL, c.Field("Temporal UI: "))
	at := "\n  mosey --data-dir " + h.dir + " "
	require.Contains(t, c.Stop().Stderr, "To show it, and to stop it:"+at+"status detached"+at+"stop run:detached\n")
	require.Contains(t, h.Print("stop", "run:detached"), at+"resume run:detached\n")
}
