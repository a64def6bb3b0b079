package manners

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Matrix compares several crawlers, or runs of one, side by side.
type Matrix struct {
	Crawlers []MatrixCrawler `json:"crawlers"`
	Cases    []MatrixCase    `json:"cases"`
}

// MatrixCrawler is one column: a run.
type MatrixCrawler struct {
	Name     string `json:"name"`
	Requests int    `json:"requests"`
	// Failed counts the failed cases by level, Results all cases by result.
	Failed  map[Level]int  `json:"failed"`
	Results map[Result]int `json:"results"`
}

// MatrixCase is one row: a case, and its result in each run, in the order of the crawlers. The
// result is "" for a run that did not serve the case.
type MatrixCase struct {
	ID      string   `json:"id"`
	Group   Group    `json:"group"`
	Level   Level    `json:"level"`
	Title   string   `json:"title"`
	Results []Result `json:"results"`
}

// NewMatrix compares reports side by side. A crawler without a name is called by its number.
func NewMatrix(reports []*Report) Matrix {
	var m Matrix
	for i, r := range reports {
		c := MatrixCrawler{Name: r.Crawler, Requests: r.Requests, Failed: make(map[Level]int), Results: r.Results}
		if c.Name == "" {
			c.Name = fmt.Sprintf("run %d", i+1)
		}
		for _, f := range r.Cases {
			if f.Result == Fail {
				c.Failed[f.Level]++
			}
		}
		m.Crawlers = append(m.Crawlers, c)
	}
	for _, k := range Cases() {
		row := MatrixCase{ID: k.ID, Group: k.Group, Level: k.Level, Title: k.Title}
		for _, r := range reports {
			at := slices.IndexFunc(r.Cases, func(f Finding) bool { return f.ID == k.ID })
			if at < 0 {
				row.Results = append(row.Results, "")
				continue
			}
			row.Results = append(row.Results, r.Cases[at].Result)
		}
		if slices.ContainsFunc(row.Results, func(r Result) bool { return r != "" }) {
			m.Cases = append(m.Cases, row)
		}
	}
	return m
}

// Mark returns the result as a short word for a table.
func (r Result) Mark() string {
	switch r {
	case Pass:
		return "ok"
	case Fail:
		return "FAIL"
	case Cautious:
		return "shy"
	case Unreached:
		return "-"
	case Unjudged:
		return "?"
	}
	return ""
}

// Legend explains the marks of a matrix.
const Legend = "ok: passed; FAIL: failed; shy: requested less than allowed; " +
	"-: not reached; ?: not judged in this kind of run"

// WriteMarkdown writes the matrix as two Markdown tables: the sums, and the cases by group.
func (m Matrix) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| crawler | requests | failed: must | should | opinion | passed | shy | not reached | not judged |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range m.Crawlers {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", cell(c.Name), c.Requests,
			c.Failed[Must], c.Failed[Should], c.Failed[Opinion],
			c.Results[Pass], c.Results[Cautious], c.Results[Unreached], c.Results[Unjudged])
	}
	for _, g := range Groups() {
		m.writeGroup(&b, g)
	}
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("manners: write the matrix: %w", err)
	}
	return nil
}

func (m Matrix) writeGroup(b *strings.Builder, g Group) {
	rows := slices.DeleteFunc(slices.Clone(m.Cases), func(c MatrixCase) bool { return c.Group != g })
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | level |", g)
	for _, c := range m.Crawlers {
		fmt.Fprintf(b, " %s |", cell(c.Name))
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(m.Crawlers)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s |", row.ID, row.Level)
		for _, r := range row.Results {
			fmt.Fprintf(b, " %s |", r.Mark())
		}
		b.WriteString("\n")
	}
}

// cell escapes a text for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(s)
}
