package main

import (
	"strings"
	"testing"
)

func TestSeeds(t *testing.T) {
	t.Parallel()

	t.Run("ThatAreNoURLsAreRefused", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		const want = "want a URL or a host with a path, such as https://example.org/about"
		h.Refuse([]string{"crawl", "ftp://a.example/"}, `"ftp://a.example/"`, "scheme", want)
		h.Refuse([]string{"crawl", aPage, "https://a b.example/"}, `"https://a b.example/"`, want)
		h.Refuse([]string{"crawl", "https://you@a.example/"}, "https://…@a.example/", want)
		h.Refuse([]string{"crawl", "you:secret@example.org"}, "…@example.org", "user names and passwords are refused", want)
	})

	t.Run("ThatAreNoFileAreTakenForASite", func(t *testing.T) {
		t.Parallel()
		newHarness(t).Refuse([]string{"crawl", "a.example"},
			`seed "a.example": not a file; to crawl a site give its URL, such as https://a.example/`)
		newHarness(t).Refuse([]string{"crawl", "seeds/of mine"},
			`seed "seeds/of mine": not a file, and not a URL such as https://example.org/`)
	})

	t.Run("OfAFileThatCannotBeReadAreRefused", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Refuse([]string{"crawl", h.dir}, h.dir, "is a directory")
		h.Refuse([]string{"crawl", h.WriteFile("seeds", "") + "/below"}, "seed file: ", "not a directory")
	})

	t.Run("OfWhichNoneIsAURLAreRefused", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		bad := h.WriteFile("bad", "# ours\n\na\nmailto:you@a.example\n")
		h.Refuse([]string{"crawl", bad}, "no seeds in the input: ", bad+":3 skipped: ", bad+":4 skipped: ", "want one URL per line")
		empty := h.WriteFile("empty", "# nothing\n")
		h.Refuse([]string{"crawl", empty}, "no seeds in "+empty+": want one URL per line, such as https://example.org/")
		h.Refuse([]string{"crawl", "-"}, "no seeds in -: want one URL per line")
		h.stdin = "a\n"
		h.Refuse([]string{"crawl", "-"}, "no seeds in the input: standard input:1 skipped: a: neither an http or https URL nor a host")
		h.stdin = "# ours\n" + strings.Repeat("a", 65537)
		h.Refuse([]string{"crawl", "-"}, "standard input:2 skipped: aaa", "the line is longer than 64 KiB: want one URL per line")
	})
}
