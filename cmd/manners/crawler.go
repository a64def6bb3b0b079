package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mosey-web/mosey/manners"
)

// Times of a crawler that the command runs.
const (
	// endTimeout bounds the time to end after SIGTERM.
	endTimeout = 10 * time.Second
	// restartAfter is the pause between a kill and the restart.
	restartAfter = time.Second
	// maxPipeTime bounds how long left-behind child processes may hold the output open.
	maxPipeTime = 2 * time.Second
)

// crawler is a running crawler.
type crawler struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, set before done is closed
}

func startCrawler(argv, environ []string, out io.Writer) (*crawler, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is ended with its group, and gets a signal first
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = environ, out, out, maxPipeTime
	cmd.SysProcAttr = ownGroup
	if err := cmd.Start(); err != nil {
		return nil, usagef("start the crawler: %w", err)
	}
	c := &crawler{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = cmd.Wait()
		c.err = errors.Join(c.err, sendSignal(cmd, syscall.SIGKILL)) // left-behind child processes
	}()
	return c, nil
}

// endDescription describes how the crawler ended.
func (c *crawler) endDescription() string {
	switch {
	case c.err == nil:
		return "well"
	case errors.Is(c.err, exec.ErrWaitDelay):
		return "well, and its remaining processes were killed"
	}
	return c.err.Error()
}

// end terminates the crawler, and kills it after endTimeout.
func (c *crawler) end() error {
	err := sendSignal(c.cmd, syscall.SIGTERM)
	select {
	case <-c.done:
		return err
	case <-time.After(endTimeout):
	}
	err = errors.Join(err, sendSignal(c.cmd, syscall.SIGKILL))
	<-c.done
	return err
}

// crawl runs the crawler until it ends, the time limit of the flags passes, or the user stops it.
func (s *session) crawl(ctx context.Context, c *serveCmd) error {
	ctx, cancel := c.withTimeLimit(ctx)
	defer cancel()
	proc, err := s.launch(c)
	if err != nil {
		return err
	}
	begun := time.Now()
	killTimer := s.newKillTimer(ctx, c.KillAfter)
	for {
		select {
		case <-proc.done:
			s.recordEvent(manners.Ended)
			fmt.Fprintf(s.e.stderr, "the crawler has ended after %s: %s\n", time.Since(begun).Round(time.Second), proc.endDescription())
			if killTimer != nil {
				fmt.Fprintf(s.e.stderr, "the crawler ended before --kill-after %s, and was not killed\n", c.KillAfter)
			}
			return nil
		case <-ctx.Done():
			s.recordEvent(manners.Stopped)
			fmt.Fprintln(s.e.stderr, "stopping the crawler")
			return proc.end()
		case <-killTimer:
			killTimer = nil
			s.recordEvent(manners.Killed)
			if err := sendSignal(proc.cmd, syscall.SIGKILL); err != nil {
				return errors.Join(fmt.Errorf("kill the crawler: %w", err), proc.end())
			}
			<-proc.done
			fmt.Fprintf(s.e.stderr, "the crawler was killed %s after its first request, and restarts\n", c.KillAfter)
			select {
			case <-time.After(restartAfter):
			case <-ctx.Done():
				s.recordEvent(manners.Stopped)
				return nil
			}
			if proc, err = s.launch(c); err != nil {
				return err
			}
		}
	}
}

// firstRequestPoll is the interval between killing's checks for the first request.
const firstRequestPoll = 20 * time.Millisecond

// newKillTimer fires once, wait after the crawler's first request, because the time to start
// differs too much between machines. It is nil if wait is 0.
func (s *session) newKillTimer(ctx context.Context, wait time.Duration) <-chan time.Time {
	if wait == 0 {
		return nil
	}
	fire := make(chan time.Time, 1)
	go func() {
		tick := time.NewTicker(firstRequestPoll)
		defer tick.Stop()
		for s.web.Requests() == 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case now := <-time.After(wait):
			fire <- now
		case <-ctx.Done():
		}
	}()
	return fire
}

func (s *session) launch(c *serveCmd) (*crawler, error) {
	s.recordEvent(manners.Started)
	return startCrawler(c.Command, s.environ(), s.e.stderr)
}

// environ returns the crawler's environment: that of the command, and the suite's addresses. It
// leaves out the machine's proxies, because they lead elsewhere.
func (s *session) environ() []string {
	var all []string
	for _, variable := range s.e.environ {
		name, _, _ := strings.Cut(strings.ToLower(variable), "=")
		switch name {
		case "http_proxy", "https_proxy", "all_proxy", "no_proxy":
			continue
		}
		all = append(all, variable)
	}
	all = append(all, "MANNERS_SEEDS="+s.seeds, "MANNERS_DNS="+s.web.DNSAddr(), "MANNERS_NETWORK="+s.web.Network().String())
	if s.ca != "" {
		all = append(all, "MANNERS_CA="+s.ca, "SSL_CERT_FILE="+s.ca)
	}
	if s.proxy != nil {
		for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
			all = append(all, name+"=http://"+s.proxyAddr())
		}
	}
	return all
}
