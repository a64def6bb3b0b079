package dns

import (
	"context"
	"slices"

	"github.com/miekg/dns"

	"github.com/mosey-web/mosey/crawl/urls"
)

// NameServers queries the registered domains of a domain's name servers (NS records), at most 8,
// sorted, without the cache. None are returned for a name that is no zone.
func (r *Resolver) NameServers(ctx context.Context, domain string) ([]string, error) {
	name, err := urls.HostName(domain)
	if err != nil {
		return nil, &Error{Host: domain, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.timeout)
	defer cancel()
	msg, err := r.queryServers(ctx, r.system(r.now()), dns.Fqdn(name), dns.TypeNS)
	if err != nil {
		return nil, &Error{Host: domain, Temporary: true, Err: err}
	}
	var found []string
	for _, rr := range msg.Answer {
		if ns, is := rr.(*dns.NS); is {
			if host, err := urls.HostName(ns.Ns); err == nil {
				found = append(found, urls.Registered(host))
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), maxNames)], nil
}
