// Synthweb serves a synthetic web to play with, and judges what crawled it.
//
//	go run ./test/web/cmd/synthweb --sites 20 --pages 30 --zoo
//
// It prints how to crawl it with mosey. On an interrupt it prints the report,
// and exits with 1 when a promise was broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mosey-web/mosey/test/web"
)

// Exit codes.
const (
	exitOK = iota
	exitViolations
	exitUsage
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags.
type settings struct {
	options web.Options
	expect  web.Expectations
	hostile bool
	log     string
	plain   bool
	scope   string
	seeds   string
	sites   int
	zoo     bool
}

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("synthweb", flag.ContinueOnError)
	f.SetOutput(io.Discard) // run prints the error, once
	f.IntVar(&s.sites, "sites", 20, "healthy sites")
	f.IntVar(&s.options.Pages, "pages", 30, "pages of a site, besides its root")
	f.IntVar(&s.options.Links, "links", 20, "links of a page")
	f.IntVar(&s.options.PageBytes, "page-bytes", 6<<10, "size of a page")
	f.Float64Var(&s.options.CrossLinks, "cross", 0.1, "share of links to other sites, -1 for none")
	f.IntVar(&s.options.SitesPerIP, "sites-per-ip", 1, "sites that share an address")
	f.IntVar(&s.options.AddrsPerSubnet, "addrs-per-subnet", 250, "addresses that share a /24")
	f.IntVar(&s.options.Port, "port", 0, "port of all sites, 0 for a free one")
	f.BoolVar(&s.plain, "plain", false, "only numbered pages and plain links on the healthy sites")
	f.BoolVar(&s.zoo, "zoo", false, "add a site of every kind of robots.txt and misbehaviour")
	f.BoolVar(&s.hostile, "hostile", false, "add the hostile sites: bombs, traps, bad TLS, rebinding names and more")
	f.DurationVar(&s.expect.Delay, "delay", 10*time.Second, "delay of a domain to judge by")
	f.DurationVar(&s.expect.IPDelay, "ip-delay", time.Second, "delay of an address to judge by, 0 for none")
	f.DurationVar(&s.expect.SubnetDelay, "subnet-delay", 0, "delay of a /24 to judge by, 0 for none")
	f.StringVar(&s.scope, "scope", "seeds", "scope to judge by: seeds or web")
	f.BoolVar(&s.expect.Partial, "partial", false, "do not judge what is missing")
	f.StringVar(&s.seeds, "seeds", "", "`file` for the seeds (default: one in the temporary directory)")
	f.StringVar(&s.log, "log", "", "`file` for the log, as JSON lines")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(out)
			f.PrintDefaults()
			return s, err
		}
		return s, fmt.Errorf("synthweb: %w", err)
	}
	switch s.scope {
	case "seeds":
		s.expect.Rules.Scope = web.ScopeSeeds
	case "web":
		s.expect.Rules.Scope = web.ScopeWeb
	default:
		return s, fmt.Errorf("synthweb: --scope is %q, want seeds or web", s.scope)
	}
	if s.sites < 0 || (s.sites == 0 && !s.zoo && !s.hostile) {
		return s, fmt.Errorf("synthweb: --sites is %d, want at least 1", s.sites)
	}
	s.options.Sites = web.Uniform(s.sites, web.Site{Plain: s.plain})
	if s.zoo {
		s.options.Sites = append(s.options.Sites, web.Zoo()...)
	}
	if s.hostile {
		s.options.Sites = append(s.options.Sites, web.Hostile()...)
	}
	return s, nil
}

// run serves until ctx is done and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	s, err := parse(args, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintln(errOut, err)
		return exitUsage
	}
	report, err := serve(ctx, s, out)
	if err != nil {
		_, _ = fmt.Fprintln(errOut, err)
		return exitUsage
	}
	if len(report.Violations()) > 0 {
		return exitViolations
	}
	return exitOK
}

func serve(ctx context.Context, s settings, out io.Writer) (web.Report, error) {
	// The web outlives the interrupt, so that the log is complete.
	w, err := web.Start(context.WithoutCancel(ctx), s.options)
	if err != nil {
		return web.Report{}, err
	}
	err = invite(s, w, out)
	if err == nil {
		<-ctx.Done()
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return web.Report{}, err
	}
	s.expect.Plan = w.Plan
	report := web.Judge(w.Log(), s.expect)
	if _, err := fmt.Fprintf(out, "\n%s", report); err != nil {
		return report, err
	}
	return report, writeLog(s.log, w)
}

// invite writes the files of a crawl and tells how to start it.
func invite(s settings, w *web.Web, out io.Writer) error {
	seeds, err := writeSeeds(s.seeds, w.Seeds())
	if err != nil {
		return err
	}
	command := "mosey crawl " + seeds
	if root := w.RootCA(); root != nil {
		name := seeds + ".ca.pem"
		if err := os.WriteFile(name, root, 0o600); err != nil {
			return fmt.Errorf("synthweb: certificate authority: %w", err)
		}
		command = "SSL_CERT_FILE=" + name + " " + command
	}
	_, err = fmt.Fprintf(out, "%d sites on port %d, name server %s, seeds in %s\n\n"+
		"  %s --dns-server %s --allow-network %s \\\n"+
		"      --scope %s --delay %v --ip-delay %v",
		len(w.Hosts()), w.Port(), w.DNSAddr(), seeds,
		command, w.DNSAddr(), w.Network(), s.scope, s.expect.Delay, s.expect.IPDelay)
	if err == nil && s.expect.SubnetDelay > 0 {
		_, err = fmt.Fprintf(out, " --subnet-delay %v", s.expect.SubnetDelay)
	}
	if err == nil {
		_, err = fmt.Fprint(out, "\n\nInterrupt to see the report.\n")
	}
	return err
}

// writeSeeds writes one seed a line and returns the file's name.
func writeSeeds(name string, seeds []string) (string, error) {
	if name == "" {
		dir, err := os.MkdirTemp("", "synthweb-")
		if err != nil {
			return "", fmt.Errorf("synthweb: seeds: %w", err)
		}
		name = filepath.Join(dir, "seeds.txt")
	}
	if err := os.WriteFile(name, []byte(strings.Join(seeds, "\n")+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("synthweb: seeds: %w", err)
	}
	return name, nil
}

func writeLog(name string, w *web.Web) (err error) {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("synthweb: log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return w.WriteLog(f)
}
