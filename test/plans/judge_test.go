package plans

import (
	"fmt"
	"slices"
	"strings"
)

// mostRead is how many rows a plan may read for each that it needs.
const mostRead = 100

// planNode is a node of a plan that was carried out, as EXPLAIN (ANALYZE, BUFFERS, VERBOSE)
// writes it. Rows are an average over the loops.
type planNode struct {
	Type      string   `json:"Node Type"`
	Parent    string   `json:"Parent Relationship"`
	Subplan   string   `json:"Subplan Name"`
	Relation  string   `json:"Relation Name"`
	Index     string   `json:"Index Name"`
	Condition string   `json:"Index Cond"`
	Filter    string   `json:"Filter"`
	Output    []string `json:"Output"`
	Rows      float64  `json:"Actual Rows"`
	Loops     float64  `json:"Actual Loops"`
	Filtered  float64  `json:"Rows Removed by Filter"`
	Rechecked float64  `json:"Rows Removed by Index Recheck"`
	Unjoined  float64  `json:"Rows Removed by Join Filter"`
	Hit       float64  `json:"Shared Hit Blocks"`
	Read      float64  `json:"Shared Read Blocks"`

	Plans []planNode `json:"Plans"`
}

// all calls yield for a node and all below it.
func (n *planNode) all(yield func(*planNode)) {
	yield(n)
	for i := range n.Plans {
		n.Plans[i].all(yield)
	}
}

// total is how many rows the node has handed on.
func (n *planNode) total() float64 { return n.Rows * n.Loops }

// read is how many rows of a table or entries of an index the node itself has looked at. If
// it has looked at more blocks, it is those, since Postgres does not count entries that the
// index itself skips.
func (n *planNode) read() float64 {
	switch n.Type {
	case "Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan", "Bitmap Heap Scan", "Tid Scan":
	default:
		return n.Unjoined * n.Loops
	}
	blocks := n.Hit + n.Read
	for i := range n.Plans {
		blocks -= n.Plans[i].Hit + n.Plans[i].Read
	}
	if callsFunction.MatchString(n.Filter) {
		blocks = 0 // the statements of the function are judged by themselves
	}
	return max((n.Rows+n.Filtered+n.Rechecked)*n.Loops, blocks)
}

// collects lists the aggregates that keep all their input rows.
var collects = []string{"array_agg(", "jsonb_agg(", "string_agg(", "jsonb_object_agg("}

// needs returns the number of rows that a statement needs. Needed rows are returned or changed,
// read from arrays or documents, selected for an expression, or collected in an array. Rows that
// are only counted, summed, hashed, filtered out, or cut off after a sort are not needed.
func needs(root *planNode) float64 {
	text := strings.Builder{}
	root.all(func(n *planNode) { text.WriteString(n.Filter + strings.Join(n.Output, " ")) })
	needed := root.total()
	root.all(func(n *planNode) {
		switch {
		case n.Type == "ModifyTable":
			for i := range n.Plans {
				if n.Plans[i].Parent == "Outer" {
					needed += n.Plans[i].total()
				}
			}
		case n.Type == "Function Scan":
			needed += n.total()
		case strings.Contains(n.Type, "Aggregate") || n.Type == "Group":
			collecting := slices.ContainsFunc(collects, func(c string) bool { return strings.Contains(strings.Join(n.Output, " "), c) })
			if collecting && len(n.Plans) > 0 {
				needed += n.Plans[0].total()
			}
		}
		if (n.Parent == "SubPlan" || n.Parent == "InitPlan") && !strings.HasPrefix(n.Subplan, "CTE ") {
			name, _, _ := strings.Cut(n.Subplan, " (")
			if !strings.Contains(text.String(), "hashed "+name+")") {
				needed += n.total()
			}
		}
	})
	return needed
}

// verdict holds the number of rows that a plan read. An empty fault means that the plan is good.
type verdict struct {
	read, ratio float64
	fault       string
}

// judge checks an executed plan.
func judge(root *planNode) (v verdict) {
	var most *planNode
	root.all(func(n *planNode) {
		r := n.read()
		if most == nil || r > most.read() {
			most = n
		}
		v.read += r
		// of each loop: one scan that reads too much may be hidden among many others
		if ratio := r / max(n.Loops, n.total(), 1); n.Loops > 0 && ratio > max(v.ratio, mostRead) {
			v.ratio, v.fault = ratio, fmt.Sprintf("reads %.0f to hand on %.0f: %s", r, n.total(), n.describe())
		}
	})
	needed := max(needs(root), 1)
	if ratio := v.read / needed; ratio > max(v.ratio, mostRead) {
		v.ratio, v.fault = ratio, fmt.Sprintf("reads %.0f and needs %.0f, most of it by %s", v.read, needed, most.describe())
	}
	return v
}

func (n *planNode) describe() string {
	d := n.Type
	if n.Index != "" {
		d += " along " + n.Index
	}
	if n.Relation != "" {
		d += " of " + n.Relation
	}
	if n.Condition != "" {
		d += " " + n.Condition
	}
	if n.Filter != "" {
		d += ", filtered by " + n.Filter
	}
	return fmt.Sprintf("%.300s", d)
}
