package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mosey-web/mosey/manners"
)

// compareCmd compares runs side by side.
type compareCmd struct {
	Logs     []string `arg:"" help:"Log files that manners serve wrote, one for each run."`
	JSON     bool     `name:"json" xor:"form" help:"Print JSON."`
	Markdown bool     `xor:"form" help:"Print Markdown tables."`
}

// Run judges all runs and prints their comparison.
func (c *compareCmd) Run(e *env) error {
	var reports []*manners.Report
	for _, name := range c.Logs {
		report, err := readReport(name)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	m := manners.NewMatrix(reports)
	switch {
	case c.JSON:
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(m)
	case c.Markdown:
		return m.WriteMarkdown(e.stdout)
	}
	return printMatrix(e, m)
}

// readReport judges a log.
func readReport(name string) (report *manners.Report, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usagef("%w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	run, err := manners.ReadRun(file)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	if report, err = run.Report(); err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return report, nil
}

// printMatrix prints the cases whose results differ between runs, or that failed in all.
func printMatrix(e *env, m manners.Matrix) error {
	for i, c := range m.Crawlers {
		fmt.Fprintf(e.stdout, "%2d  %s\n", i+1, c.Name)
		fmt.Fprintf(e.stdout, "    failed: %d must, %d should, %d opinion; passed: %d of %d\n",
			c.Failed[manners.Must], c.Failed[manners.Should], c.Failed[manners.Opinion], c.Results[manners.Pass], len(m.Cases))
	}
	group, same := manners.Group(""), 0
	for _, row := range m.Cases {
		if passed(row) {
			same++
			continue
		}
		if row.Group != group {
			group = row.Group
			fmt.Fprintf(e.stdout, "\n%-24s  level  ", strings.ToUpper(string(group)))
			for i := range m.Crawlers {
				fmt.Fprintf(e.stdout, "  %4d", i+1)
			}
			fmt.Fprintln(e.stdout)
		}
		fmt.Fprintf(e.stdout, "%-24s  %-7s", row.ID, row.Level)
		for _, r := range row.Results {
			fmt.Fprintf(e.stdout, "  %4s", r.Mark())
		}
		fmt.Fprintln(e.stdout)
	}
	_, err := fmt.Fprintf(e.stdout, "\n%d more passed in all runs.\n%s.\n", same, manners.Legend)
	return err
}

// passed reports whether all runs passed a case.
func passed(row manners.MatrixCase) bool {
	for _, r := range row.Results {
		if r != manners.Pass {
			return false
		}
	}
	return true
}
