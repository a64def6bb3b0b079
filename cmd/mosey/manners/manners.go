package manners

import (
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/manners"
)

// Cmd judges crawlers.
type Cmd struct {
	Serve   serveCmd   `cmd:"" help:"Serve the suite's web on this machine, and log what a crawler asks for; or run a crawler against it, and judge it."`
	Judge   judgeCmd   `cmd:"" help:"Judge a crawler by the log of the web. Fails if a case failed that a standard asks for."`
	Compare compareCmd `cmd:"" help:"Put runs side by side: of several crawlers, or of one before and after a change."`
	Cases   casesCmd   `cmd:"" help:"List the cases, with their levels and sources."`
}

// casesCmd lists the cases.
type casesCmd struct {
	JSON bool `name:"json" help:"Print JSON, a case a line."`
}

// CaseDoc is a case as JSON has it.
type CaseDoc struct {
	ID     string        `json:"id"`
	Group  manners.Group `json:"group"`
	Level  manners.Level `json:"level"`
	Source string        `json:"source"`
	Title  string        `json:"title"`
	// Agent, Direct and Restart are what the case needs: --agent, no proxy, --kill-after.
	Agent   bool `json:"agent"`
	Direct  bool `json:"direct"`
	Restart bool `json:"restart"`
}

// Run lists the cases.
func (c *casesCmd) Run(e *command.Env) error {
	var docs []CaseDoc
	for _, k := range manners.Cases() {
		docs = append(docs, CaseDoc{k.ID, k.Group, k.Level, k.Source, k.Title, k.Agent, k.Direct, k.Restart})
	}
	if c.JSON {
		return command.PrintLines(e.Stdout, docs)
	}
	width := command.TerminalWidth(e.Stdout)
	for i, d := range docs {
		if i == 0 || docs[i-1].Group != d.Group {
			if i > 0 {
				fmt.Fprintln(e.Stdout)
			}
			fmt.Fprintf(e.Stdout, "%s\n", strings.ToUpper(string(d.Group)))
		}
		paragraph(e, fmt.Sprintf("%-8s ", d.Level), d.Title, width)
		paragraph(e, strings.Repeat(" ", 9), d.ID+": "+d.Source+d.needs(), width)
	}
	_, err := fmt.Fprintf(e.Stdout, "\n%s\n", explain.Count(int64(len(docs)), "case"))
	return err
}

// needs is what a run has to have for the case to be judged.
func (d CaseDoc) needs() string {
	var needs []string
	if d.Agent {
		needs = append(needs, "--agent")
	}
	if d.Direct {
		needs = append(needs, "no --proxy")
	}
	if d.Restart {
		needs = append(needs, "--kill-after")
	}
	if len(needs) == 0 {
		return ""
	}
	return "; needs " + strings.Join(needs, " and ")
}

// paragraph prints a text in lines that fit the terminal, the first of which begins with a
// label, and the others with as much room.
func paragraph(e *command.Env, label, text string, width int) {
	room := strings.Repeat(" ", len(label))
	for i, line := range command.Wrap(room+explain.OneLine(text), width, len(room)) {
		if i == 0 {
			line = label + line[len(label):]
		}
		fmt.Fprintln(e.Stdout, line)
	}
}

// suiteOf makes the suite of the flags.
func suiteOf(opts manners.Options) (*manners.Suite, error) {
	suite, err := manners.New(opts)
	if err != nil {
		return nil, wiring.Usagef("%w", flagNames(err))
	}
	return suite, nil
}

// flagNames has each line of an error begin with the name of its flag.
func flagNames(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "case ") {
			lines[i] = "--only: " + line + "; mosey manners cases lists them"
			continue
		}
		lines[i] = "--" + line
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
