// Package request makes one guarded request of any kind: resolve the host, take the lease
// of its slots, fetch, settle. Settling gives the slots back, records the attempt and
// observes the domain's health. Package kinds has the differences between kinds.
//
// No request is made without a lease, and none outlasts it. A request that has begun
// is finished and recorded even if its caller is cancelled meanwhile.
package request
