package search_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	peopleFile = "testdata/people.tsv"
	gradesFile = "testdata/grades.tsv"
	gradeBest  = 3
)

var poolFlag = flag.String("judge.pool", "", "with -judge, write what is to be graded to a `file`: the results of people's queries that have no grade")

// readPeople returns the queries of people.
func readPeople(t *testing.T) (queries []string) {
	t.Helper()
	for _, row := range readTable(t, peopleFile, 2) {
		queries = append(queries, row[0])
	}
	return queries
}

// readGrades returns the grade of each document that has one, by query and URL.
func readGrades(t *testing.T) map[string]map[string]int {
	t.Helper()
	grades := map[string]map[string]int{}
	for _, row := range readTable(t, gradesFile, 3) {
		grade, err := strconv.Atoi(row[2])
		require.NoError(t, err, "%q", row)
		require.True(t, grade >= 0 && grade <= gradeBest, "%q", row)
		if grades[row[0]] == nil {
			grades[row[0]] = map[string]int{}
		}
		require.NotContains(t, grades[row[0]], row[1], "it has two grades")
		grades[row[0]][row[1]] = grade
	}
	return grades
}

// bestSite is the host of the document with the best grade.
func bestSite(grades map[string]int) (host string) {
	best, url := 0, ""
	for u, g := range grades {
		if g > best || g == best && u < url {
			best, url = g, u
		}
	}
	return hostOf(url)
}

// onSite are the grades of a host's documents.
func onSite(grades map[string]int, host string) map[string]int {
	grades = maps.Clone(grades)
	maps.DeleteFunc(grades, func(u string, _ int) bool { return hostOf(u) != host })
	return grades
}

// judgePeople prints the nDCG@10 of people's queries, and how many results it is computed
// from have no grade. One site is that of the document with the best grade.
func judgePeople(t *testing.T, all []contestant) {
	t.Helper()
	grades := readGrades(t)
	var table, details strings.Builder
	fmt.Fprintf(&table, "%-26s nDCG@10, nothing found, results without a grade", "")
	for _, who := range all {
		var sum float64
		var queries, empty, ungraded int
		for _, q := range readPeople(t) {
			host, graded := "", grades[q]
			if who.site {
				host = bestSite(graded)
				graded = onSite(graded, host)
			}
			found, err := who.find(t.Context(), q, host)
			require.NoError(t, err, "%s: %s", who.name, q)
			n := ndcg(found, graded)
			sum += n
			queries++
			if len(found) == 0 {
				empty++
			}
			for _, u := range found[:min(len(found), depth)] {
				if _, is := graded[u]; !is {
					ungraded++
				}
			}
			fmt.Fprintf(&details, "%s\t%s\t%.3f\n", who.name, q, n)
		}
		fmt.Fprintf(&table, "\n%-26s %.3f %d %d", who.name, sum/float64(queries), empty, ungraded)
	}
	if *missesFlag {
		t.Log("\n" + details.String())
	}
	t.Log("\n" + table.String())
}

// pool writes the ungraded results of all contestants for people's queries. Each line has the
// query, the URL, the title and the beginning of the text for a grader.
func pool(t *testing.T, docs []*document, all []contestant) {
	t.Helper()
	of := map[string]*document{}
	hosts := map[string]bool{}
	for _, d := range docs {
		of[d.url] = d
		hosts[hostOf(d.url)] = true
	}
	grades := readGrades(t)
	var out strings.Builder
	n := 0
	for _, q := range readPeople(t) {
		urls := map[string]bool{}
		add := func(found []string, err error) {
			require.NoError(t, err, q)
			for _, u := range found[:min(len(found), poolDepth)] {
				if _, is := grades[q][u]; !is {
					urls[u] = true
				}
			}
		}
		for _, who := range all {
			if !who.site {
				add(who.find(t.Context(), q, ""))
				continue
			}
			for host := range hosts { // results beyond two a domain
				found, err := who.find(t.Context(), q, host)
				add(found[:min(len(found), depth)], err)
			}
		}
		list := make([]string, 0, len(urls))
		for u := range urls {
			list = append(list, u)
		}
		slices.Sort(list)
		for _, u := range list {
			n++
			prose := ""
			for _, p := range of[u].raw {
				if len(prose) < 150 {
					prose += p + " "
				}
			}
			fmt.Fprintf(&out, "%s\t%s\t%s\t%.160s\n", q, u, of[u].title, strings.ToValidUTF8(prose[:min(len(prose), 160)], ""))
		}
	}
	require.NoError(t, os.WriteFile(*poolFlag, []byte(out.String()), 0o600))
	t.Logf("%d results are to be graded: %s", n, *poolFlag)
}

// any finds with Xapian where one of the words is enough: others may find such documents.
func (x *xapian) any(ctx context.Context, query, host string) ([]string, error) {
	loose := *x
	loose.or = true
	return loose.search(ctx, query, host, depth)
}

// Each grade belongs to a query.
func TestGrades(t *testing.T) {
	t.Parallel()
	people := readPeople(t)
	require.Len(t, people, 60)
	for q := range readGrades(t) {
		require.Contains(t, people, q)
	}
}
