package wiring

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
)

// LogFlags configure the log on standard error.
type LogFlags struct {
	LogLevel  string `help:"Minimum level to log: debug (one line per request), info, warn or error. Default: warn; worker: info." enum:",debug,info,warn,error" default:"" placeholder:"LEVEL"`
	LogFormat string `rare:"" help:"Format of log lines: text or json. Default: text; worker: json." enum:",text,json" default:"" placeholder:"text|json"`
}

// Logger logs to w, by default from level on, and as JSON or as text. Activities' lines name the
// workflow, and its domain or run.
func (f LogFlags) Logger(w io.Writer, level slog.Level, asJSON bool) *slog.Logger {
	if f.LogLevel != "" {
		// the parser has checked it
		_ = level.UnmarshalText([]byte(f.LogLevel))
	}
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" || f.LogFormat == "" && asJSON {
		return newLogger(ofActivity{slog.NewJSONHandler(w, options)})
	}
	return newLogger(ofActivity{slog.NewTextHandler(w, options)})
}

// ofActivity adds the workflow to the lines of an activity, unless a logger of the SDK did.
type ofActivity struct{ slog.Handler }

func (h ofActivity) Handle(ctx context.Context, r slog.Record) error {
	if activity.IsActivity(ctx) {
		has := make(map[string]bool)
		r.Attrs(func(a slog.Attr) bool {
			has[a.Key] = true
			return true
		})
		r = r.Clone()
		for _, a := range subject(activity.GetInfo(ctx).WorkflowExecution.ID) {
			if !has[a.Key] {
				r.AddAttrs(a)
			}
		}
	}
	return h.Handler.Handle(ctx, r)
}

func subject(workflow string) []slog.Attr {
	attrs := []slog.Attr{slog.String("workflow", workflow)}
	domain, run := crawl.WorkflowSubject(workflow)
	if domain != "" {
		attrs = append(attrs, slog.String("domain", domain))
	}
	if run != "" {
		attrs = append(attrs, slog.String("run", run))
	}
	return attrs
}

func (h ofActivity) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ofActivity{h.Handler.WithAttrs(attrs)}
}

func (h ofActivity) WithGroup(name string) slog.Handler {
	return ofActivity{h.Handler.WithGroup(name)}
}

// ofSDK logs for the SDK under our attribute names. It drops steps and warnings about a normal
// stop: a worker no longer polls, or an activity ended while its heartbeat was sent.
type ofSDK struct{ slog.Handler }

// Enabled drops the line for each step of a workflow.
func (h ofSDK) Enabled(ctx context.Context, level slog.Level) bool {
	return level > slog.LevelDebug && h.Handler.Enabled(ctx, level)
}

func (h ofSDK) Handle(ctx context.Context, r slog.Record) error {
	ended := false
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		err := a.Value.String()
		// only an activity's own end cancels its context, never a failure of Temporal
		cutOff := r.Message == "RecordActivityHeartbeat with error" && err == context.Canceled.Error()
		ended = ended || a.Key == "Error" && (cutOff || strings.HasSuffix(err, "worker stopping"))
		line.AddAttrs(inOurWords(a)...)
		return !ended
	})
	if ended {
		return nil
	}
	return h.Handler.Handle(ctx, line)
}

var ourWords = map[string]string{
	"RunID": "workflow_run", "ActivityType": "activity", "Attempt": "attempt",
	"TaskQueue": "task_queue", "Error": "error",
}

func inOurWords(a slog.Attr) []slog.Attr {
	switch a.Key {
	case "WorkflowID":
		return subject(a.Value.String())
	case "Namespace", "WorkerID", "WorkflowType", "ActivityID":
		return nil // the same in all lines, or implied by others
	}
	a.Key = cmp.Or(ourWords[a.Key], a.Key)
	return []slog.Attr{a}
}

func (h ofSDK) WithAttrs(attrs []slog.Attr) slog.Handler {
	var ours []slog.Attr
	for _, a := range attrs {
		ours = append(ours, inOurWords(a)...)
	}
	return ofSDK{h.Handler.WithAttrs(ours)}
}

func (h ofSDK) WithGroup(name string) slog.Handler {
	return ofSDK{h.Handler.WithGroup(name)}
}

// Plain returns a writer that drops control characters other than line ends and tabs, because rows
// may come from another version.
func Plain(w io.Writer) io.Writer {
	if p, ok := w.(*plain); ok {
		return p
	}
	return &plain{to: w}
}

// Edited is Plain with a function that edits each text before it is written.
func Edited(w io.Writer, edit func(string) string) io.Writer { return &plain{to: Raw(w), edit: edit} }

// Raw returns the writer beneath Plain, for our own control characters.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*plain); ok {
		return p.to
	}
	return w
}

type plain struct {
	mu sync.Mutex
	to io.Writer
	// rest is the beginning of a character that the last write cut
	rest []byte
	// edit is optional
	edit func(string) string
}

func (p *plain) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Concat(p.rest, text)
	end := len(all)
	for cut := 1; cut < utf8.UTFMax && cut <= len(all); cut++ {
		if at := len(all) - cut; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				end = at
			}
			break
		}
	}
	clean := make([]byte, 0, end)
	for from := 0; from < end; {
		to := from
		for to < end && all[to] != '\n' && all[to] != '\t' {
			to++
		}
		clean = append(clean, crawl.CleanText(string(all[from:to]), utf8.UTFMax*(to-from))...)
		if to < end {
			clean = append(clean, all[to])
			to++
		}
		from = to
	}
	p.rest = all[end:]
	if p.edit != nil {
		clean = []byte(p.edit(string(clean)))
	}
	if _, err := p.to.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}
