package main

import (
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/manners"
)

// casesCmd lists the cases.
type casesCmd struct {
	JSON bool `name:"json" help:"Print one JSON object per case."`
}

// caseDoc is the JSON form of a case.
type caseDoc struct {
	ID     string        `json:"id"`
	Group  manners.Group `json:"group"`
	Level  manners.Level `json:"level"`
	Source string        `json:"source"`
	Title  string        `json:"title"`
	// Agent, Direct and Restart state the needs of the case: --agent, no proxy, --kill-after.
	Agent   bool `json:"agent"`
	Direct  bool `json:"direct"`
	Restart bool `json:"restart"`
}

// Run lists the cases.
func (c *casesCmd) Run(e *env) error {
	var docs []caseDoc
	for _, k := range manners.Cases() {
		docs = append(docs, caseDoc{k.ID, k.Group, k.Level, k.Source, k.Title, k.Agent, k.Direct, k.Restart})
	}
	if c.JSON {
		return printLines(e.stdout, docs)
	}
	width := widthOf(e.stdout)
	for i, d := range docs {
		if i == 0 || docs[i-1].Group != d.Group {
			if i > 0 {
				fmt.Fprintln(e.stdout)
			}
			fmt.Fprintf(e.stdout, "%s\n", strings.ToUpper(string(d.Group)))
		}
		paragraph(e, fmt.Sprintf("%-8s ", d.Level), d.Title, width)
		paragraph(e, strings.Repeat(" ", 9), d.ID+": "+d.Source+d.needs(), width)
	}
	_, err := fmt.Fprintf(e.stdout, "\n%s\n", count(len(docs), "case"))
	return err
}

// needs lists the conditions under which a run can judge the case.
func (d caseDoc) needs() string {
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

// suiteOf makes a suite from the flags.
func suiteOf(opts manners.Options) (*manners.Suite, error) {
	suite, err := manners.New(opts)
	if err != nil {
		return nil, usagef("%w", flagNames(err))
	}
	return suite, nil
}

// flagNames begins each line of an error with the name of its flag.
func flagNames(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "unknown case ") {
			lines[i] = "--only: " + line + "; manners cases lists them"
			continue
		}
		lines[i] = "--" + line
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
