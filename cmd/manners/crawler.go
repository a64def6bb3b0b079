package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mosey-web/mosey/manners"
)

// Times of a crawler that the command runs.
const (
	// endMost bounds the time to end after SIGTERM.
	endMost = 10 * time.Second
	// restartAfter is the pause between a kill and the restart.
	restartAfter = time.Second
	// pipeMost bounds how long left-behind child processes may hold the output open.
	pipeMost = 2 * time.Second
)

// crawler is a running crawler.
type crawler struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, set before done is closed
}

func startCrawler(argv, environ []string, out io.Writer) (*crawler, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is ended with its group, and asked first
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = environ, out, out, pipeMost
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return nil, usagef("start the crawler: %w", err)
	}
	c := &crawler{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = cmd.Wait()
		c.err = errors.Join(c.err, kill(cmd)) // left-behind child processes
	}()
	return c, nil
}

// how describes how the crawler ended.
func (c *crawler) how() string {
	switch {
	case c.err == nil:
		return "well"
	case errors.Is(c.err, exec.ErrWaitDelay):
		return "well, and its remaining processes were killed"
	}
	return c.err.Error()
}

// end terminates the crawler, and kills it after endMost.
func (c *crawler) end() error {
	err := terminate(c.cmd)
	select {
	case <-c.done:
		return err
	case <-time.After(endMost):
	}
	err = errors.Join(err, kill(c.cmd))
	<-c.done
	return err
}

// crawl runs the crawler until it ends, the time limit of the flags passes, or the user stops it.
func (s *session) crawl(ctx context.Context, c *serveCmd) error {
	ctx, cancel := c.within(ctx)
	defer cancel()
	proc, err := s.launch(c)
	if err != nil {
		return err
	}
	begun := time.Now()
	killing := s.killing(ctx, c.KillAfter)
	for {
		select {
		case <-proc.done:
			s.happened(manners.Ended)
			fmt.Fprintf(s.e.stderr, "the crawler has ended after %s: %s\n", time.Since(begun).Round(time.Second), proc.how())
			if killing != nil {
				fmt.Fprintf(s.e.stderr, "the crawler ended before --kill-after %s, and was not killed\n", c.KillAfter)
			}
			return nil
		case <-ctx.Done():
			s.happened(manners.Stopped)
			fmt.Fprintln(s.e.stderr, "stopping the crawler")
			return proc.end()
		case <-killing:
			killing = nil
			s.happened(manners.Killed)
			if err := kill(proc.cmd); err != nil {
				return errors.Join(fmt.Errorf("kill the crawler: %w", err), proc.end())
			}
			<-proc.done
			fmt.Fprintf(s.e.stderr, "the crawler was killed %s after its first request, and restarts\n", c.KillAfter)
			select {
			case <-time.After(restartAfter):
			case <-ctx.Done():
				s.happened(manners.Stopped)
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

// killing fires once, wait after the crawler's first request, because the time to start differs too
// much between machines. It is nil if wait is 0.
func (s *session) killing(ctx context.Context, wait time.Duration) <-chan time.Time {
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
	s.happened(manners.Started)
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
