package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mosey-web/mosey/manners"
)

// judgeCmd judges a log.
type judgeCmd struct {
	Log   string `arg:"" help:"Log file that manners serve wrote."`
	HTML  string `name:"html" help:"Also write the report as one HTML page, with the requests to each host over time." placeholder:"FILE"`
	JUnit string `name:"junit" help:"Also write the report as JUnit XML, for build servers. Failed opinions become skipped tests." placeholder:"FILE"`
	JSON  bool   `name:"json" help:"Print JSON."`
	All   bool   `help:"Also print the cases that passed."`
}

// Run judges the log. It fails if a case failed that a standard requires.
func (c *judgeCmd) Run(e *env) (err error) {
	report, err := readReport(c.Log)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		err = errors.Join(err, writeFile("--html", c.HTML, report.WriteHTML))
	}
	if c.JUnit != "" {
		err = errors.Join(err, writeFile("--junit", c.JUnit, report.WriteJUnit))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = report.WriteJSON(e.stdout)
	} else {
		err = printReport(e, report, c.All)
	}
	return errors.Join(err, verdictError(report))
}

// errNoRequests reports a run without a request, which proves nothing.
var errNoRequests = errors.New("the crawler made no request: no case can be judged")

// verdictError returns the error for a report, nil if no standard was broken.
func verdictError(report *manners.Report) error {
	switch {
	case report.Requests == 0:
		return errNoRequests
	case report.Failed > 0:
		return fmt.Errorf("%s failed that a standard requires", count(report.Failed, "case"))
	}
	return nil
}

// printReport prints the report, the failures of each group first.
func printReport(e *env, r *manners.Report, all bool) error {
	width := widthOf(e.stdout)
	for _, line := range runDescription(r) {
		fmt.Fprintln(e.stdout, oneLine(line))
	}
	for _, g := range manners.Groups() {
		findings := r.ByGroup(g)
		if len(findings) == 0 {
			continue
		}
		counts := make(map[manners.Result]int)
		for _, f := range findings {
			counts[f.Result]++
		}
		var parts []string
		for _, result := range manners.Results() {
			if counts[result] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[result], result))
			}
		}
		fmt.Fprintf(e.stdout, "\n%s: %s\n", strings.ToUpper(string(g)), strings.Join(parts, ", "))
		printGroup(e, findings, all, width)
	}
	_, err := fmt.Fprintf(e.stdout, "\n%s\n", r.Summary())
	return err
}

// printGroup prints the cases of a group. It joins the cases that the crawler did not reach into
// one line, unless all is set.
func printGroup(e *env, findings []manners.Finding, all bool, width int) {
	var missed []string
	for _, f := range findings {
		switch {
		case all:
			printFinding(e, f, width)
		case f.Result == manners.Unreached && f.Requests == 0:
			missed = append(missed, f.ID)
		case f.Result != manners.Pass:
			printFinding(e, f, width)
		}
	}
	if len(missed) > 0 {
		paragraph(e, fmt.Sprintf("%-9s  ", manners.Unreached), "the crawler did not reach "+strings.Join(missed, ", "), width)
	}
}

func printFinding(e *env, f manners.Finding, width int) {
	result := string(f.Result)
	if f.Result == manners.Fail {
		result = "FAIL"
	}
	label := fmt.Sprintf("%-9s  %-7s  ", result, f.Level)
	indent := strings.Repeat(" ", len(label))
	paragraph(e, label, f.Title, width)
	paragraph(e, indent, f.Reason, width)
	paragraph(e, indent, f.ID+": "+f.Source, width)
}

// runDescription returns the lines that describe the judged run.
func runDescription(r *manners.Report) []string {
	by := "by the name server"
	if r.Proxied {
		by = "through the proxy"
	}
	lines := []string{fmt.Sprintf("%s, %s, since %s", count(r.Requests, "request"), by, r.Started.Local().Format(time.DateTime))}
	if r.Crawler != "" {
		lines = append(lines, "Crawler: "+r.Crawler)
	}
	for _, agent := range r.UserAgents {
		if agent == "" {
			agent = "(none)"
		}
		lines = append(lines, "User-Agent: "+agent)
	}
	if r.Truncated {
		lines = append(lines, "The log ends in the middle of a line: the run may be incomplete.")
	}
	return lines
}

// writeFile writes a file atomically.
func writeFile(flag, name string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), ".manners-*")
	if err != nil {
		return usagef("%s: %w", flag, err)
	}
	err = write(file)
	err = errors.Join(err, file.Chmod(0o644), file.Close()) // the content is not secret
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", flag, err), os.Remove(file.Name()))
	}
	return nil
}
