// Package network tells an outage of this machine's own network from sites that
// cannot be reached.
//
// A site that cannot be reached looks the same whether its server or our network is
// down; what differs is whether others can be reached meanwhile. So an attempt that
// could not reach its site is held against the site only once another site was
// reached after it; until then it is taken for our own trouble and costs the site
// nothing. While nothing at all can be reached only a few requests, the canaries,
// are let through, until one of them reaches its site.
package network
