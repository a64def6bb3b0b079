package dns

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// find asks for one family of a host's addresses. A single label is first
// looked for in the domains of the system's search list, up to the first where
// the name exists, even without addresses of this family. Otherwise the
// addresses of the two families could belong to different hosts.
func (r *Resolver) find(ctx context.Context, name string, qtype uint16) (finding, error) {
	sys := r.system(r.now())
	if !strings.Contains(name, ".") {
		for _, domain := range sys.search {
			full, ok := canonical(name + "." + domain)
			if !ok {
				continue
			}
			found, err := r.walk(ctx, sys, full, qtype)
			if err != nil || !errors.Is(found.denial, errNoName) {
				return found, err
			}
		}
	}
	return r.walk(ctx, sys, name, qtype)
}

// walk asks for a name, and for its aliases where the server has not followed
// them.
func (r *Resolver) walk(ctx context.Context, sys *system, name string, qtype uint16) (finding, error) {
	chain := newChain(name)
	for {
		msg, err := r.ask(ctx, sys, chain.end(), qtype)
		if err != nil {
			return finding{}, err
		}
		// ends, as the chain grows each time and its length is bounded
		if found, done := chain.read(msg, qtype); done {
			return found, nil
		}
	}
}

// ask gives the first usable answer of a server. A server that answers with a
// failure is not asked again; one that does not answer is.
func (r *Resolver) ask(ctx context.Context, sys *system, name string, qtype uint16) (*dns.Msg, error) {
	pending := sys.order(r.now())
	var last error
	for range sys.tries {
		var silent []*server
		for _, srv := range pending {
			msg, err := r.try(ctx, sys, srv, name, qtype)
			switch {
			case err == nil:
				srv.silentUntil.Store(0)
				if err = refusal(msg); err == nil {
					return msg, nil
				}
			case ctx.Err() != nil || errors.Is(err, ErrLimited):
				if last != nil { // why another try was needed
					err = fmt.Errorf("%w, after %w", err, last)
				}
				return nil, err
			default:
				srv.rest(r.now())
				silent = append(silent, srv)
			}
			last = fmt.Errorf("%s: %w", srv.addr, err)
		}
		pending = silent
	}
	return nil, last
}

// try asks one server, over TCP if its answer is too long for UDP.
func (r *Resolver) try(ctx context.Context, sys *system, srv *server, name string, qtype uint16) (*dns.Msg, error) {
	for _, network := range []string{"udp", "tcp"} {
		if err := r.limits.wait(ctx, name); err != nil {
			return nil, err
		}
		msg, err := exchange(ctx, sys.timeout, network, srv.addr, newQuery(name, qtype))
		if err != nil || !msg.Truncated {
			return msg, err
		}
	}
	return nil, errors.New("the answer is truncated over TCP too")
}
