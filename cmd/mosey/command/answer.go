package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/reasons"
)

// Answer is how a command that changes things says what it has done: in a sentence, or in
// one JSON object.
type Answer struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Change is what a command has changed.
type Change struct {
	// Did is what was done, such as paused, lifted or set.
	Did string `json:"did"`
	// Domain, Run, List, Schedule or Version is what was changed.
	Domain   string `json:"domain,omitempty"`
	Run      string `json:"run,omitempty"`
	List     string `json:"list,omitempty"`
	Schedule string `json:"schedule,omitempty"`
	Version  string `json:"version,omitempty"`
	// Still is what forbids requests to the domain all the same.
	Still reasons.Reason `json:"still,omitempty"`
	// Until is when it ends by itself, and Count how many things it has changed.
	Until time.Time `json:"until,omitzero"`
	Count *int64    `json:"count,omitempty"`
	// Says tells it in words. People see commands in it on lines of their own.
	Says string `json:"says"`
}

// Tell says what was changed.
func (a Answer) Tell(e *Env, c Change) error {
	if a.JSON {
		c.Says = strings.Join(strings.Fields(c.Says), " ")
		return PrintLines(e.Stdout, []Change{c})
	}
	if _, err := fmt.Fprintln(e.Stdout, c.Says); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
