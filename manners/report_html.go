package manners

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" },
	"join":  func(list []string) string { return strings.Join(list, ", ") },
}).Parse(reportHTML))

// htmlPage is the data of the page.
type htmlPage struct {
	*Report

	Heads  []Result
	Groups []htmlGroup
	Delay  time.Duration
}

// htmlGroup is a group of cases.
type htmlGroup struct {
	Name   Group
	Anchor string
	Cases  []htmlCase
	Counts []int // of each result
}

// htmlCase is a case and its time axes.
type htmlCase struct {
	Finding

	Axes []axis
}

// WriteHTML writes the report as one page, which needs no other file and no script.
func (p *Report) WriteHTML(w io.Writer) error {
	page := htmlPage{Report: p, Heads: Results(), Delay: time.Duration(p.Delay * float64(time.Second))}
	for i, name := range Groups() {
		g := htmlGroup{Name: name, Anchor: fmt.Sprintf("group-%d", i+1)}
		counts := make(map[Result]int)
		for _, f := range p.ByGroup(name) {
			counts[f.Result]++
			g.Cases = append(g.Cases, htmlCase{f, p.axes(f)})
		}
		for _, result := range page.Heads {
			g.Counts = append(g.Counts, counts[result])
		}
		if len(g.Cases) > 0 {
			page.Groups = append(page.Groups, g)
		}
	}
	if err := reportTemplate.Execute(w, page); err != nil {
		return fmt.Errorf("manners: write HTML: %w", err)
	}
	return nil
}
