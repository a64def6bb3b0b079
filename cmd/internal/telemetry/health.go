package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// maxHealth bounds the answer of a process that is asked for its health.
const maxHealth = 64 << 10

// Ask asks the process that serves at f's address whether it can work, as /readyz tells, and
// writes what it says. That it cannot, or does not answer, is an error.
func (f WatchFlags) Ask(ctx context.Context, out io.Writer) error {
	address, err := f.Address()
	if err != nil {
		return err
	}
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().IsUnspecified() {
		here := netip.IPv6Loopback()
		if at.Addr().Is4() {
			here = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		address = netip.AddrPortFrom(here, at.Port()).String()
	}
	ctx, cancel := context.WithTimeout(ctx, readySpan+time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("--metrics %q: %w", f.Metrics, err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req) // no proxy
	if err != nil {
		return fmt.Errorf("no worker answers at %s: %w", address, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHealth))
	if err != nil {
		return fmt.Errorf("the worker at %s does not finish its answer: %w", address, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the worker at %s cannot work: %s", address, strings.Join(strings.FieldsFunc(string(body), isNewline), "; "))
	}
	_, err = out.Write(body)
	return err
}

func isNewline(r rune) bool { return r == '\n' }
