package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/test/output"
)

// controls are those in force for the domain.
func (r *rows) controls() crawl.Controls {
	r.t.Helper()
	facts, err := r.store.Facts(r.t.Context(), aDomain)
	require.NoError(r.t, err)
	return facts.Domain.Controls
}

func TestPause(t *testing.T) {
	t.Parallel()

	t.Run("HoldsUntilItIsResumed", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.Equal(t, "a.example is paused in all runs. To undo it:\n  mosey resume a.example\n",
			r.Print("pause", "www.a.example", "--reason", "the owner asked"))
		c, forbidden := r.controls().FirstForbidding(time.Now())
		require.True(t, forbidden)
		require.Equal(t, crawl.ControlPause, c.Type)
		require.Equal(t, "the owner asked", c.Reason)
		require.Equal(t, command.CurrentUser(), c.SetBy)
		require.Zero(t, c.Until)
		require.Equal(t, "a.example may be crawled again; its runs continue with the pending pages.\n", r.Print("resume", aDomain))
		require.Empty(t, r.controls())
		r.Fail([]string{"resume", aDomain}, "a.example is not paused: mosey why a.example explains its state")
	})

	t.Run("EndsAtATimeOrAfterADuration", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		at := time.Now().Add(48 * time.Hour).Truncate(time.Second)
		output.ContainsOnSameLine(t, r.Print("pause", aDomain, "--reason", "x", "--until", at.Format(time.RFC3339)),
			"a.example is paused in all runs until "+explain.Stamp(at)+". To undo it:")
		require.WithinDuration(t, at, r.controls()[0].Until, 0)
		r.Print("pause", aDomain, "--reason", "x", "--until", "12h")
		require.WithinDuration(t, time.Now().Add(12*time.Hour), r.controls()[0].Until, time.Minute)
	})

	t.Run("RefusesAnEndThatIsNone", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		const want = ": want a future time, such as 2030-12-01T06:00:00Z, or a duration, such as 12h"
		for _, until := range []string{"tomorrow", "12", "2030-12-01"} {
			h.Refuse([]string{"pause", aDomain, "--reason", "x", "--until", until}, `--until "`+until+`"`+want)
		}
		for _, past := range []string{"-1h", "0s", "2020-12-01T06:00:00Z"} {
			h.Refuse([]string{"pause", aDomain, "--reason", "x", "--until=" + past}, "--until "+past+" is past"+want)
		}
	})
}

func TestBlock(t *testing.T) {
	t.Parallel()

	t.Run("HoldsUntilItIsEnded", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.Equal(t, "a.example is blocked in all runs. To undo it:\n  mosey unblock a.example\n",
			r.Print("block", aDomain, "--reason", "the owner asked"))
		output.ContainsOnSameLine(t, r.Print("domain", aDomain), "status ", "blocked the owner asked")
		output.ContainsOnSameLine(t, r.Print("unblock", aDomain), "a.example may be crawled again")
		output.ContainsOnSameLine(t, r.Print("domain", aDomain), "status ", "pending")
		r.Fail([]string{"unblock", aDomain}, "a.example is neither blocked, stopped nor abandoned: mosey why a.example explains its state")
	})

	t.Run("IsPossibleForADomainThatIsNotKnownYet", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Print("block", aDomain, "--reason", "the owner asked")
		output.ContainsOnSameLine(t, h.Print("why", aDomain), "a.example: not crawled: the domain is blocked by ", ": the owner asked")
	})

	t.Run("SaysWhatElseForbidsRequests", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.Print("pause", aDomain, "--reason", "a quiet night")
		r.Print("block", aDomain, "--reason", "the owner asked")
		output.ContainsOnSameLine(t, r.Print("unblock", aDomain), "a.example is still not crawled: paused: ", ": a quiet night")
	})

	t.Run("EndsAStopToo", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).control(crawl.Control{Type: crawl.ControlStop, Reason: "the owner asked us to leave"})
		output.ContainsOnSameLine(t, r.Print("unblock", aDomain), "a.example may be crawled again")
	})
}

func TestControlArguments(t *testing.T) {
	t.Parallel()

	t.Run("ADomainThatIsNoneIsRefused", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, args := range [][]string{
			{"pause", "ftp://a.example/", "--reason", "x"},
			{"resume", "ftp://a.example/"},
			{"block", "ftp://a.example/", "--reason", "x"},
			{"unblock", "ftp://a.example/"},
			{"set", "ftp://a.example/", "--delay", "1m"},
		} {
			h.Refuse(args, `domain "ftp://a.example/": scheme is not http or https`, "want a host name, such as example.org")
		}
	})

	t.Run("AReasonIsNeededAndBounded", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		long := strings.Repeat("x", crawl.ControlReasonMax+1)
		for _, command := range []string{"pause", "block"} {
			h.Refuse([]string{command, aDomain, "--reason", ""}, "--reason: 0 bytes: want 1 to 500")
			h.Refuse([]string{command, aDomain, "--reason", long}, "--reason: 501 bytes: want 1 to 500")
		}
		h.Refuse([]string{"set", aDomain, "--delay", "1m", "--reason", long}, "--reason: 501 bytes: want 0 to 500")
	})
}

func TestSet(t *testing.T) {
	t.Parallel()

	t.Run("StoresWhatIsGivenAndLeavesTheRest", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.Equal(t, "a.example is set. To show its state:\n  mosey why a.example\n",
			r.Print("set", aDomain, "--delay", "1m", "--reason", "a small server"))
		require.Equal(t, time.Minute, r.controls().Delay())
		require.Equal(t, "a small server", r.controls()[0].Reason)
		r.Print("set", aDomain, "--max-pages", "200", "--window", "Sat-Sun 00:00-24:00 UTC")
		require.Equal(t, time.Minute, r.controls().Delay())
		pages, set := r.controls().Budget()
		require.True(t, set)
		require.EqualValues(t, 200, pages)
		require.Equal(t, "Sat-Sun 00:00-24:00 UTC", r.controls().Window())
		out := r.Print("why", aDomain)
		output.ContainsOnSameLine(t, out, "- minimum delay 1m0s: set by "+command.CurrentUser(), ": a small server")
		output.ContainsOnSameLine(t, out, "- budget per run: 200 pages: set by ")
		output.ContainsOnSameLine(t, out, "- requests only Sat-Sun 00:00-24:00 UTC: ")
	})

	t.Run("TakesValuesBackWithEmptyOnes", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed()
		r.Print("set", aDomain, "--delay", "1m", "--max-pages", "0", "--window", closedWindow)
		output.ContainsOnSameLine(t, r.Print("why", aDomain), "a.example: complete: no running run has a page of the domain left to request")
		r.Print("set", aDomain, "--delay", "0s", "--max-pages=-1", "--window", "")
		require.Zero(t, r.controls().Delay())
		require.Empty(t, r.controls().Window())
		out := r.Print("why", aDomain)
		output.ContainsOnSameLine(t, out, "a.example: due: the run requests it as soon as a worker runs")
		output.ContainsOnSameLine(t, out, "- budget per run: any number of pages: ")
		require.NotContains(t, out, "minimum delay 0s")
		require.NotContains(t, out, "requests only")
	})

	t.Run("RefusesWhatIsOutOfBounds", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		for _, c := range []struct {
			flag string
			want []string
		}{
			{"--delay=-1s", []string{"--delay -1s: want 0s to "}},
			{"--delay=60", []string{"--delay: ", `"60" is not a duration: want a number and a unit, such as 10s or 1h30m`}},
			{"--max-pages=-2", []string{"--max-pages -2: want -1 or more"}},
			{"--window=at night", []string{`--window "at night": `, "want"}},
		} {
			h.Refuse([]string{"set", aDomain, c.flag}, c.want...)
		}
		h.Refuse([]string{"set", aDomain}, "set a.example: no change is given: give --delay, --max-pages, --window or --reset-traps")
		h.Fail([]string{"set", aDomain, "--delay", "1m"}, "domain a.example is unknown: first seed one of its pages, such as mosey crawl https://a.example/")
	})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"retry", "unblock"} {
		t.Run("AsksADomainAgainThatWasGivenUpBy "+command, func(t *testing.T) {
			t.Parallel()
			r := newRows(t, settings.Settings{})
			r.exec("UPDATE domains SET status = 'unreachable', status_reason = 'the probe failed', next_crawl_after = now() + interval '1 day'")
			output.ContainsOnSameLine(t, r.Print("why", aDomain), "not crawled until ", "the domain is unreachable (the probe failed)")
			output.ContainsOnSameLine(t, r.Print(command, aDomain), "a.example may be crawled again")
			output.ContainsOnSameLine(t, r.Print("domain", aDomain), "status ", "pending")
			r.Fail([]string{command, aDomain}, "mosey why a.example explains its state")
		})
	}
}
