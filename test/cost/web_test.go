package cost_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
)

// webDomains names the variable that makes this program serve a web of so many domains.
const webDomains = "MOSEY_COST_WEB_DOMAINS"

const (
	pageLinks = 17
	// endless is how many pages a site can have.
	endless = 9_999_999
)

// webOf is a web of pages as heavy as real ones. Each page brings four new ones, so that a
// crawl's first pages and its last are alike.
func webOf(domains, port int) web.Options {
	return web.Options{
		Sites: web.Uniform(domains, web.Site{Plain: true, KnownLinksOnly: true, Pages: endless}),
		Links: pageLinks, Prose: true, Port: port,
	}
}

// serveWeb serves a web until standard input ends. It prints its port and the address of its
// name server.
func serveWeb() (err error) {
	domains, err := strconv.Atoi(os.Getenv(webDomains))
	if err != nil {
		return err
	}
	w, err := web.Start(context.Background(), webOf(domains, 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	fmt.Println(w.Port(), w.DNSAddr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// webProcess is a web in a process of its own, so that what it allocates is not counted.
type webProcess struct {
	*web.Plan

	dns string
}

func startWeb(t *testing.T, domains int) webProcess {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), webDomains+"="+strconv.Itoa(domains))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	var (
		port int
		w    webProcess
	)
	_, err = fmt.Fscanln(bufio.NewReader(out), &port, &w.dns)
	require.NoError(t, err)
	w.Plan, err = web.NewPlan(webOf(domains, port))
	require.NoError(t, err)
	return w
}
