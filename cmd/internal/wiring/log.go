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
		return newLogger(activityHandler{slog.NewJSONHandler(w, options)})
	}
	return newLogger(activityHandler{slog.NewTextHandler(w, options)})
}

// activityHandler adds the workflow to the lines of an activity, unless a logger of the SDK did.
type activityHandler struct{ slog.Handler }

func (h activityHandler) Handle(ctx context.Context, r slog.Record) error {
	if activity.IsActivity(ctx) {
		hasKey := make(map[string]bool)
		r.Attrs(func(a slog.Attr) bool {
			hasKey[a.Key] = true
			return true
		})
		r = r.Clone()
		for _, a := range subject(activity.GetInfo(ctx).WorkflowExecution.ID) {
			if !hasKey[a.Key] {
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

func (h activityHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return activityHandler{h.Handler.WithAttrs(attrs)}
}

func (h activityHandler) WithGroup(name string) slog.Handler {
	return activityHandler{h.Handler.WithGroup(name)}
}

// sdkHandler logs for the SDK under our attribute names. It drops steps and warnings about a normal
// stop: a worker no longer polls, or an activity ended while its heartbeat was sent.
type sdkHandler struct{ slog.Handler }

// Enabled drops the line for each step of a workflow.
func (h sdkHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level > slog.LevelDebug && h.Handler.Enabled(ctx, level)
}

func (h sdkHandler) Handle(ctx context.Context, r slog.Record) error {
	isNormalEnd := false
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		err := a.Value.String()
		// only an activity's own end cancels its context, never a failure of Temporal
		isCancelled := r.Message == "RecordActivityHeartbeat with error" && err == context.Canceled.Error()
		isNormalEnd = isNormalEnd || a.Key == "Error" && (isCancelled || strings.HasSuffix(err, "worker stopping"))
		line.AddAttrs(renameAttribute(a)...)
		return !isNormalEnd
	})
	if isNormalEnd {
		return nil
	}
	return h.Handler.Handle(ctx, line)
}

var attributeNames = map[string]string{
	"RunID": "workflow_run", "ActivityType": "activity", "Attempt": "attempt",
	"TaskQueue": "task_queue", "Error": "error",
}

func renameAttribute(a slog.Attr) []slog.Attr {
	switch a.Key {
	case "WorkflowID":
		return subject(a.Value.String())
	case "Namespace", "WorkerID", "WorkflowType", "ActivityID":
		return nil // the same in all lines, or implied by others
	}
	a.Key = cmp.Or(attributeNames[a.Key], a.Key)
	return []slog.Attr{a}
}

func (h sdkHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var renamed []slog.Attr
	for _, a := range attrs {
		renamed = append(renamed, renameAttribute(a)...)
	}
	return sdkHandler{h.Handler.WithAttrs(renamed)}
}

func (h sdkHandler) WithGroup(name string) slog.Handler {
	return sdkHandler{h.Handler.WithGroup(name)}
}

// Plain returns a writer that drops control characters other than line ends and tabs, because rows
// may come from another version.
func Plain(w io.Writer) io.Writer {
	if p, ok := w.(*plainWriter); ok {
		return p
	}
	return &plainWriter{to: w}
}

// PlainEdited is Plain with a function that edits each text before it is written.
func PlainEdited(w io.Writer, edit func(string) string) io.Writer {
	return &plainWriter{to: Raw(w), edit: edit}
}

// Raw returns the writer beneath Plain, for our own control characters.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*plainWriter); ok {
		return p.to
	}
	return w
}

type plainWriter struct {
	mu sync.Mutex
	to io.Writer
	// rest is the beginning of a character that the last write cut
	rest []byte
	// edit is optional
	edit func(string) string
}

func (p *plainWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Concat(p.rest, text)
	end := len(all)
	for partial := 1; partial < utf8.UTFMax && partial <= len(all); partial++ {
		if at := len(all) - partial; utf8.RuneStart(all[at]) {
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
