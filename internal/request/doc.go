// Package request makes one guarded request of any kind: resolve the host, acquire the lease of its
// slots, fetch, settle. Settling releases the slots, records the attempt and observes the domain's
// health. Package kinds has the differences between kinds.
//
// Every request has a lease and ends before it. A request that has begun is finished and recorded
// even if its caller is cancelled.
package request
