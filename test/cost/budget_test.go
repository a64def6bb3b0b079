package cost_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const (
	// growthMost is the share by which a page may cost more after 12,000 pages than after
	// 3,000.
	growthMost = 0.10
	// slackMost is the share by which a count may be below its budget. With more slack a
	// count could grow unseen.
	slackMost = 0.15
	// leastToCompare is the least count a page for which shares mean anything.
	leastToCompare = 0.05
)

// budget holds the maximum of each count for one page.
type budget struct {
	// postgres is the major version of the budget. Other versions choose other plans.
	postgres int
	lines    map[string]line
}

// line is one count of the budget file.
type line struct {
	measured, most float64
}

// finding is one measured count.
type finding struct {
	name string
	// early and late are the costs of a page after 3,000 pages and after 12,000 pages. early is
	// 0 if the count was not measured then.
	early, late float64
	// fresh is the cost of a page after 12,000 pages with fresh statistics.
	fresh float64
}

func readBudget(in io.Reader) (budget, error) {
	b := budget{lines: map[string]line{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		f := strings.Fields(text)
		var err error
		switch {
		case len(f) == 0:
		case len(f) == 2 && f[0] == "postgres":
			b.postgres, err = strconv.Atoi(f[1])
		case len(f) == 3 && b.lines[f[0]] == (line{}):
			var l line
			if l.measured, err = strconv.ParseFloat(f[1], 64); err == nil {
				l.most, err = strconv.ParseFloat(f[2], 64)
			}
			b.lines[f[0]] = l
		default:
			err = errors.New("want a new count, what was measured and the most it may be")
		}
		if err != nil {
			return budget{}, fmt.Errorf("budget: %q: %w", lines.Text(), err)
		}
	}
	return b, lines.Err()
}

// write prints the budget file: each count with what it is.
func (b budget) write(out io.Writer) error {
	fmt.Fprintf(out, `# What a page may cost: pages of prose, 300 to 900 words, %d links of which four are new,
# recorded in groups of %d. A count, what was measured, the most it may be, what it is.
# Written by: go test ./test/cost -update
# A commit that raises a number says why.

postgres %d # the major version that was measured; another plans otherwise

`, pageLinks, companySize, b.postgres)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range counts {
		if l, ok := b.lines[c.name]; ok {
			fmt.Fprintf(w, "%s\t%s\t%s\t# %s\n", c.name, figure(l.measured), figure(l.most), c.about)
		}
	}
	return w.Flush()
}

// allow is the budget after a measurement: what was found, and the margin of each count.
// Counts that were not measured stay.
func (b budget) allow(postgres int, findings []finding) budget {
	b.postgres, b.lines = postgres, maps.Clone(b.lines)
	for _, f := range findings {
		most := f.late * (1 + counted(f.name).margin)
		unit := math.Pow(10, math.Floor(math.Log10(max(most, 0.01)))-2) // three digits
		b.lines[f.name] = line{measured: f.late, most: math.Ceil(most/unit) * unit}
	}
	return b
}

// check returns a sentence for each finding that violates the budget. It checks only growth if
// another version of Postgres was measured.
func (b budget) check(postgres int, findings []finding) (wrong []string) {
	for _, f := range findings {
		l, known := b.lines[f.name]
		switch {
		case postgres != b.postgres:
		case !known:
			wrong = append(wrong, f.name+" has no budget: -update writes one")
		case f.late > l.most:
			wrong = append(wrong, fmt.Sprintf("%s is %s a page, more than the budget of %s", f.name, figure(f.late), figure(l.most)))
		case l.most >= leastToCompare && f.late < l.most*(1-slackMost):
			wrong = append(wrong, fmt.Sprintf("%s is %s a page, so far below the budget of %s that this allows what was saved to be lost: -update",
				f.name, figure(f.late), figure(l.most)))
		}
		if growth := cmp.Or(counted(f.name).growth, growthMost); f.early >= leastToCompare && f.late > f.early*(1+growth) {
			wrong = append(wrong, fmt.Sprintf("%s grows with what is stored: %s a page after 3,000 pages, %s after 12,000, %.0f %% more",
				f.name, figure(f.early), figure(f.late), 100*(f.late/f.early-1)))
		}
		if f.fresh >= leastToCompare && f.fresh > f.late*(1+growthMost) {
			wrong = append(wrong, fmt.Sprintf("%s is %s a page without statistics and %s with fresh ones", f.name, figure(f.late), figure(f.fresh)))
		}
	}
	return wrong
}

// table shows findings beside the budget.
func (b budget) table(findings []finding) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "a page\tafter 3,000\tafter 12,000\tratio\tbudget\tof it\tanalysed\t")
	for _, f := range findings {
		early, ratio, share, fresh := "", "", "", ""
		if f.early > 0 {
			early, ratio = figure(f.early), fmt.Sprintf("%.3f", f.late/f.early)
		}
		if f.fresh > 0 {
			fresh = figure(f.fresh)
		}
		most := b.lines[f.name].most
		if most > 0 {
			share = fmt.Sprintf("%.0f %%", 100*f.late/most)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", f.name, early, figure(f.late), ratio, figure(most), share, fresh)
	}
	_ = w.Flush() // a strings.Builder takes all
	return text.String()
}

// figure has four digits that count.
func figure(x float64) string {
	if x == 0 {
		return "0"
	}
	decimals := 3 - int(math.Floor(math.Log10(max(math.Abs(x), 0.01))))
	return strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
}

// counted is the count of a name.
func counted(name string) count {
	i := slices.IndexFunc(counts, func(c count) bool { return c.name == name })
	if i < 0 {
		panic("no such count: " + name)
	}
	return counts[i]
}

const budgetFile = "budget.txt"

func loadBudget() (b budget, err error) {
	text, err := os.ReadFile(budgetFile)
	if err != nil {
		return budget{}, err
	}
	return readBudget(strings.NewReader(string(text)))
}
