package manners

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The elements of a JUnit report that programs agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		ClassName string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Failure   *junitMessage `xml:"failure"`
		Skipped   *junitMessage `xml:"skipped"`
		Output    junitOutput   `xml:"system-out"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
	junitOutput struct {
		Text string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML, a testsuite for each group. Unreached and unjudged
// cases are skipped. A failed opinion is skipped too, with a message, because it must not fail a
// build.
func (p *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "manners"}
	for _, g := range Groups() {
		s := junitSuite{Name: string(g), Timestamp: p.Started.Format(time.RFC3339)}
		for _, f := range p.Cases {
			if f.Group == g {
				s.add(f)
			}
		}
		if s.Tests == 0 {
			continue
		}
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("manners: write JUnit: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("manners: write JUnit: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("manners: write JUnit: %w", err)
	}
	return nil
}

func (s *junitSuite) add(f Finding) {
	c := junitCase{
		ClassName: "manners." + string(f.Group), Name: f.ID,
		Output: junitOutput{fmt.Sprintf("%s (%s, %s)\n%s: %s", f.Title, f.Level, f.Source, f.Result, f.Reason)},
	}
	switch {
	case f.Fails():
		c.Failure = &junitMessage{Message: f.Reason, Type: string(f.Level), Text: seenText(f.Seen)}
		s.Failures++
	case f.Result == Fail:
		c.Skipped = &junitMessage{Message: "failed, a matter of opinion: " + f.Reason}
		s.Skipped++
	case f.Result == Unreached, f.Result == Unjudged:
		c.Skipped = &junitMessage{Message: string(f.Result) + ": " + f.Reason}
		s.Skipped++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

// seenText lists requests, one a line.
func seenText(seen []SeenRequest) string {
	var text strings.Builder
	for _, r := range seen {
		text.WriteString(r.String() + "\n")
	}
	return text.String()
}

// String formats the request in a line.
func (r SeenRequest) String() string {
	return fmt.Sprintf("%.3f s: %s %s%s: %s", r.Start, r.Method, r.Host, r.Target, statusText(r.Status))
}

func statusText(status int) string {
	if status == 0 {
		return "no response"
	}
	return strconv.Itoa(status)
}
