package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
)

// ManCmd prints a page for man.
type ManCmd struct{}

// Help says how to install it.
func (*ManCmd) Help() string {
	return "To read it: mosey man | man -l -. To install it: mosey man > /usr/local/share/man/man1/mosey.1"
}

// Run prints the page.
func (*ManCmd) Run(e *command.Env, app *kong.Application) error {
	page := &page{w: e.Stdout}
	page.write(app)
	return page.err
}

// page writes roff, in the macros of man(7).
type page struct {
	w   io.Writer
	err error
}

func (p *page) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// text is text within a line: nothing in it is a command of roff.
func text(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
}

// paragraph is text on a line of its own, which must not begin like a command.
func (p *page) paragraph(s string) {
	if s = text(strings.TrimSpace(s)); strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	p.linef("%s", s)
}

func (p *page) write(app *kong.Application) {
	about, example, _ := strings.Cut(app.Help, "\n\n")
	p.linef(`.TH MOSEY 1 "" "mosey %s" "User Commands"`, text(wiring.Version()))
	p.linef(".SH NAME\nmosey \\- a polite, durable web crawler")
	p.linef(".SH SYNOPSIS\n.B mosey\n.I COMMAND\n[\\fIARGUMENT\\fR]... [\\fIFLAG\\fR]...")
	p.linef(".SH DESCRIPTION")
	p.paragraph(about)
	p.linef(".PP")
	p.paragraph(example)
	p.linef(".SH COMMANDS")
	for _, child := range app.Children {
		p.command(child, "mosey")
	}
	p.linef(".SH FLAGS OF ALL COMMANDS")
	p.flags(app.Flags)
	p.linef(".SH EXIT STATUS")
	for _, row := range []struct {
		code int
		what string
	}{
		{wiring.ExitOK, "All went well."},
		{wiring.ExitFailed, "Something failed; the last line says what."},
		{wiring.ExitUsage, "The command was given wrongly, or names what is not known."},
	} {
		p.linef(".TP\n.B %d", row.code)
		p.paragraph(row.what)
	}
	p.linef(".SH ENVIRONMENT")
	p.paragraph("Each flag has a variable, which is named with it. DATABASE_URL and the TEMPORAL_* variables name a Postgres and a " +
		"Temporal to use in place of Mosey's own.")
}

// command writes of a command, or of those below it.
func (p *page) command(n *kong.Node, above string) {
	if n.Hidden {
		return
	}
	name := above + " " + n.Name
	if len(n.Children) > 0 {
		for _, child := range n.Children {
			p.command(child, name)
		}
		return
	}
	words := []string{name}
	for _, a := range n.Positional {
		words = append(words, a.Summary())
	}
	p.linef(`.SS "%s"`, text(strings.Join(words, " ")))
	p.paragraph(n.Help)
	if n.Detail != "" {
		p.linef(".PP")
		p.paragraph(n.Detail)
	}
	for _, a := range n.Positional {
		p.linef(".TP\n.I %s", text(a.Summary()))
		p.paragraph(a.Help)
	}
	p.flags(n.Flags)
}

func (p *page) flags(flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		value := ""
		if !f.IsBool() {
			value = "=" + f.FormatPlaceHolder()
		}
		p.linef(".TP\n.B %s", text("--"+f.Name+value))
		help := f.Help
		if len(f.Envs) > 0 {
			help += " ($" + strings.Join(f.Envs, ", $") + ")"
		}
		p.paragraph(help)
	}
}
