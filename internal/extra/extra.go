// Package extra asks a program of the operator for data about each page that is read (--exec).
package extra

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Page is the object that the program reads from its standard input, on one line. It is in memory
// only: the text of a page is never stored.
type Page struct {
	URL         string `json:"url"`
	Run         string `json:"run"`
	Status      int    `json:"status"`
	ContentType string `json:"content_type,omitempty"`
	Language    string `json:"language,omitempty"`
	NoIndex     bool   `json:"noindex,omitempty"`
	Headings    string `json:"headings,omitempty"`
	// Text is the visible text. Main is its part without navigation.
	Text  string   `json:"text,omitempty"`
	Main  string   `json:"main,omitempty"`
	Links []string `json:"links,omitempty"`

	crawl.Signals
}

const (
	// MaxBytes bounds an answer, without its line break.
	MaxBytes = 8 << 10
	// DefaultTimeout is the time for an answer. request.LongReads pages that wait for each other are
	// read within request.LargeReadTimeout.
	DefaultTimeout = 10 * time.Second

	triesOfPage = 2
	// After maxFailures in a row the program rests for restTime, and pages go without its data.
	maxFailures = 5
	restTime    = 10 * time.Second
)

var errTimeout = errors.New("no answer")

// Program is a running program, which is started again when it fails. It is safe for concurrent
// use: pages wait for each other.
type Program struct {
	line    string
	timeout time.Duration
	log     *slog.Logger

	mu       sync.Mutex
	running  *process // nil while it does not run
	failures int      // in a row
	restEnd  time.Time
	skipped  int // pages without its data since the last answer
}

// New returns a Program for a line of the shell. It starts with the first page.
func New(line string, timeout time.Duration, logger *slog.Logger) *Program {
	return &Program{line: line, timeout: timeout, log: logger}
}

// Ask returns the program's data about a page, an object of at most MaxBytes, or nil if it has none
// or fails.
func (p *Program) Ask(page Page) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range triesOfPage {
		if time.Now().Before(p.restEnd) {
			break
		}
		data, err := p.ask(page)
		if err == nil {
			p.succeed()
			return data
		}
		p.fail(page.URL, err)
		if errors.Is(err, errTimeout) {
			break
		}
	}
	p.skipped++
	return nil
}

func (p *Program) ask(page Page) (json.RawMessage, error) {
	line, err := json.Marshal(page)
	if err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	if p.running == nil {
		started, err := start(p.line, p.log)
		if err != nil {
			return nil, err
		}
		p.running = started
	}
	return p.running.ask(append(line, '\n'), p.timeout)
}

func (p *Program) succeed() {
	if p.skipped > 0 {
		p.log.Warn("the program of --exec answers again", "pages_without_its_data", p.skipped)
	}
	p.failures, p.skipped = 0, 0
}

func (p *Program) fail(url string, err error) {
	p.close()
	p.failures++
	if p.failures >= maxFailures {
		p.restEnd = time.Now().Add(restTime)
	}
	p.log.Warn("the program of --exec failed, and is started again", "error", err, "page", url, "failures_in_a_row", p.failures)
}

// Close ends the program.
func (p *Program) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
}

func (p *Program) close() {
	if p.running != nil {
		p.running.end()
		p.running = nil
	}
}

// process is one start of the program.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(line string, log *slog.Logger) (*process, error) {
	cmd := shell(line)
	cmd.Stderr = &stderr{log: log}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", line, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", line, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", line, err)
	}
	return &process{cmd: cmd, in: in, out: bufio.NewReaderSize(out, MaxBytes+2)}, nil
}

// ask kills the program if it does not answer in time.
func (p *process) ask(line []byte, timeout time.Duration) (json.RawMessage, error) {
	timer := time.AfterFunc(timeout, func() { kill(p.cmd) })
	_, err := p.in.Write(line)
	var answer []byte
	if err == nil {
		answer, err = p.out.ReadSlice('\n')
	}
	switch inTime := timer.Stop(); {
	case !inTime:
		return nil, fmt.Errorf("%w within %s", errTimeout, timeout)
	case errors.Is(err, bufio.ErrBufferFull), len(answer) > MaxBytes+1:
		return nil, fmt.Errorf("an answer is longer than %d bytes", MaxBytes)
	case p.out.Buffered() > 0:
		return nil, errors.New("want one line for each page")
	case err != nil:
		return nil, fmt.Errorf("it ended, or closed its standard input or output (%w)", err)
	}
	return readAnswer(answer)
}

// readAnswer returns an object, or nil for null. Encoded anew it is valid in Postgres too, which
// refuses lone surrogates.
func readAnswer(answer []byte) (json.RawMessage, error) {
	var object map[string]any
	if err := json.Unmarshal(answer, &object); err != nil {
		return nil, fmt.Errorf("want one JSON object or null on each line: %w", err)
	}
	if object == nil {
		return nil, nil
	}
	data, err := json.Marshal(object)
	if err == nil && len(data) > MaxBytes {
		err = fmt.Errorf("an answer is longer than %d bytes", MaxBytes)
	}
	return data, err
}

// end gives the program no time: it has no page.
func (p *process) end() {
	kill(p.cmd)
	_ = p.cmd.Wait() // its exit code is that of the kill
}

// stderr logs lines, the ends of long ones apart.
type stderr struct {
	log  *slog.Logger
	rest []byte
}

const maxLogLine = 1000

func (s *stderr) Write(data []byte) (int, error) {
	s.rest = append(s.rest, data...)
	for {
		line, rest, complete := bytes.Cut(s.rest, []byte("\n"))
		if !complete && len(line) < maxLogLine {
			return len(data), nil
		}
		if len(line) > maxLogLine {
			line, rest = s.rest[:maxLogLine], s.rest[maxLogLine:]
		}
		s.log.Info("the program of --exec says", "line", string(line))
		s.rest = rest
	}
}
