//go:build unix

package extra_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/extra"
	"github.com/mosey-web/mosey/test/wait"
)

// logged is a program with the text of its log.
type logged struct {
	*extra.Program

	log *lockedBuffer
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func program(t *testing.T, line string) logged {
	t.Helper()
	log := &lockedBuffer{}
	p := extra.New(line, 2*time.Second, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(p.Close)
	return logged{p, log}
}

func page(name string) extra.Page {
	return extra.Page{URL: "https://a.example/" + name, Text: "Words\nof a page", Signals: crawl.Signals{Title: "T"}}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	p := program(t, `echo begun >&2; while read -r line; do printf '{"got": %s, "pid": %d}\n' "$line" $$; done`)
	var pids []int
	for range 3 {
		var got struct {
			Got map[string]any
			PID int
		}
		require.NoError(t, json.Unmarshal(p.Ask(page("x")), &got), p.log)
		require.Equal(t, map[string]any{
			"url": "https://a.example/x", "run": "", "status": 0.0, "text": "Words\nof a page", "title": "T",
		}, got.Got)
		pids = append(pids, got.PID)
	}
	require.Equal(t, pids[0], pids[2], "one process for all pages")
	wait.Until(t, func() bool { return strings.Contains(p.log.String(), "begun") }, 10*time.Second, time.Millisecond)
}

func TestAskForAnything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ program, want, log string }{
		"ANull":             {"read -r l; echo null; read -r l", "", ""},
		"AnObject":          {`read -r l; echo '{"a":[1,"\ud800\u0000"]}'; read -r l`, `{"a":[1,"` + "\ufffd" + `\u0000"]}`, ""},
		"ANumber":           {"read -r l; echo 1; read -r l", "", "want one JSON object or null on each line"},
		"ANumberTooLarge":   {`read -r l; echo '{"a":1e999}'; read -r l`, "", "want one JSON object"},
		"NoJSON":            {"echo Loading the model; read -r l", "", "want one JSON object or null on each line"},
		"TooMuch":           {`read -r l; printf '{"a":"%9000s"}\n' x`, "", "an answer is longer than 8192 bytes"},
		"NoEnd":             {"read -r l; yes x | tr -d '\\n'", "", "an answer is longer than 8192 bytes"},
		"NoAnswer":          {"read -r l; sleep 60", "", "no answer within 2s"},
		"NothingIsRead":     {"sleep 60", "", "no answer within 2s"},
		"TwoLines":          {`read -r l; printf '{"a":1}\n{"a":2}\n'; read -r l`, "", "want one line for each page"},
		"AnEnd":             {"exit 3", "", "it ended"},
		"AProgramOfNobody":  {"./nothing-here", "", "not found"},
		"AClosedOutput":     {"read -r l; exec >&-; sleep 60", "", "it ended, or closed its standard input or output"},
		"AnEndWithoutALine": {`read -r l; printf '{}'`, "", "it ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, c.program)
			asked := page("x")
			asked.Text = strings.Repeat("text ", 100_000) // more than a pipe takes
			require.Equal(t, c.want, string(p.Ask(asked)))
			if c.log != "" {
				wait.Until(t, func() bool { return strings.Contains(p.log.String(), c.log) }, 10*time.Second, time.Millisecond, p.log)
			}
		})
	}
}

// A page that ends the program is tried again, and costs the next page nothing.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	p := program(t, `while read -r line; do case $line in *bad*) exit 1;; esac; echo '{"ok":true}'; done`)
	require.JSONEq(t, `{"ok":true}`, string(p.Ask(page("1"))))
	require.Nil(t, p.Ask(page("bad")))
	require.Equal(t, 2, strings.Count(p.log.String(), "failed, and is started again"), p.log)
	require.JSONEq(t, `{"ok":true}`, string(p.Ask(page("2"))))
	require.Contains(t, p.log.String(), "pages_without_its_data=1")
}

// A program that never answers does not hold up the crawl: it rests, and is then tried again.
func TestAskWhatIsBroken(t *testing.T) {
	t.Parallel()
	p := program(t, "exit 1")
	began := time.Now()
	for i := range 100 {
		require.Nil(t, p.Ask(page(strconv.Itoa(i))))
	}
	require.Less(t, time.Since(began), 5*time.Second)
	require.Equal(t, 5, strings.Count(p.log.String(), "failed, and is started again"), p.log)
}

func TestAskTogether(t *testing.T) {
	t.Parallel()
	p := program(t, `while read -r line; do printf "%s\n" "$line" | sed 's/.*"url":"\([^"]*\)".*/{"url":"\1"}/'; done`)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			name := strconv.Itoa(i)
			if got := string(p.Ask(page(name))); got != `{"url":"https://a.example/`+name+`"}` {
				t.Errorf("page %s: %s: %s", name, got, p.log)
			}
		})
	}
	all.Wait()
	require.Empty(t, p.log.String(), "no failure")
}
