package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/manners"
)

// serveCmd serves the suite's web, and may run a crawler.
type serveCmd struct {
	Write     string        `help:"Directory for the crawler's files: seeds.txt, hosts, ca.pem. Default: manners." default:"manners" placeholder:"DIR"`
	Log       string        `help:"Log file; an existing log with requests becomes FILE.before. Default: log.jsonl in that directory." placeholder:"FILE"`
	Agent     string        `help:"Product token of the crawler in robots.txt. Without a token, the cases that need it are not judged." placeholder:"TOKEN"`
	Delay     time.Duration `help:"Minimum delay between requests to a host that the crawler is configured for. Default: 1s." default:"1s" placeholder:"DURATION"`
	Crawler   string        `help:"Name of the crawler for the report, such as a name and a version." placeholder:"TEXT"`
	Only      []string      `help:"Case to serve. Repeatable. Default: all." placeholder:"CASE"`
	Proxy     proxyFlag     `help:"Also serve a proxy into the web, at an address or at a free port. The crawler must then use it." placeholder:"[HOST]:PORT"`
	Port      uint16        `help:"Port of all sites. Default: a free port." placeholder:"PORT"`
	DNSPort   uint16        `name:"dns-port" help:"Port of the name server. Default: a free port." placeholder:"PORT"`
	For       time.Duration `help:"Stop after this time. Default: no limit." placeholder:"DURATION"`
	KillAfter time.Duration `help:"Kill the command and its processes (kill -9) at this time after its first request, and restart it." placeholder:"DURATION"`

	Command []string `arg:"" optional:"" help:"Command that runs the crawler, after --. It gets the variables MANNERS_SEEDS, MANNERS_DNS, MANNERS_CA, MANNERS_NETWORK, and http_proxy with --proxy."`
}

// proxyFlag is a flag with an optional value.
type proxyFlag struct {
	enabled bool
	address string
}

// IsBool lets the flag stand without a value; kong calls it.
func (*proxyFlag) IsBool() bool { return true }

// Decode reads the flag; kong calls it.
func (p *proxyFlag) Decode(ctx *kong.DecodeContext) error { //nolint:unparam // kong wants an error
	p.enabled, p.address = true, "127.0.0.1:0"
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	switch text {
	case "true", "on", "":
	case "false", "off":
		*p = proxyFlag{}
	default:
		p.address = text
	}
	return nil
}

func (c *serveCmd) check() error {
	var errs []error
	if c.For < 0 {
		errs = append(errs, usagef("--for %s: want more than 0s", c.For))
	}
	if c.KillAfter < 0 || c.KillAfter > 0 && c.For > 0 && c.KillAfter >= c.For {
		errs = append(errs, usagef("--kill-after %s: want more than 0s, and less than --for", c.KillAfter))
	}
	if c.KillAfter > 0 && len(c.Command) == 0 {
		errs = append(errs, usagef("--kill-after %s needs a command: give it after --", c.KillAfter))
	}
	return errors.Join(errs...)
}

// withTimeLimit returns a context with the time limit of the flags.
func (c *serveCmd) withTimeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.For == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.For)
}

// Run serves until the crawler ends or the user stops it.
func (c *serveCmd) Run(ctx context.Context, e *env) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	suite, err := suiteOf(manners.Options{
		Agent: c.Agent, Delay: c.Delay, NameServerPort: c.DNSPort, Only: c.Only, Port: int(c.Port), Proxied: c.Proxy.enabled,
	})
	if err != nil {
		return err
	}
	s, err := c.open(ctx, e, suite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.announce(c); err != nil {
		return err
	}
	stopSaving := s.startSaving()
	if len(c.Command) > 0 {
		err = s.crawl(ctx, c)
	} else {
		s.wait(ctx, c)
	}
	stopSaving()
	time.Sleep(settleTime)
	run, saveErr := s.save()
	if err = errors.Join(err, saveErr); err != nil {
		return err
	}
	if len(c.Command) == 0 {
		_, err = fmt.Fprintf(e.stdout, "%s in %s; to judge them: manners judge %s\n",
			count(len(run.Log), "request"), s.log, s.log)
		return err
	}
	report, err := run.Report()
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout)
	if err := printReport(e, report, false); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "To draw it: manners judge %s --html report.html\n", s.log)
	return verdictError(report)
}

// settleTime bounds the time until the web notices the closed connections of an ended crawler.
const settleTime = 200 * time.Millisecond

// wait shows the progress of a crawler that the user runs.
func (s *session) wait(ctx context.Context, c *serveCmd) {
	ctx, cancel := c.withTimeLimit(ctx)
	defer cancel()
	_, isTerminal := terminal(s.e.stderr)
	progress := &progressLine{to: s.e.stderr, terminal: isTerminal, printedAt: time.Now()}
	defer func() {
		if progress.isDrawn {
			fmt.Fprint(raw(progress.to), "\r\x1b[K") // removes the line
		}
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for {
		select {
		case <-ctx.Done():
			s.recordEvent(manners.Stopped)
			return
		case now := <-tick.C:
			progress.show(func() string {
				return fmt.Sprintf("%s in %s, %d of %s requested", count(s.web.Requests(), "request"),
					now.Sub(begun).Round(time.Second), s.requestedHosts.Load(), count(len(s.hosts), "host"))
			})
		}
	}
}
