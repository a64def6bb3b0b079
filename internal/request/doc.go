// Package request makes the one guarded request that every kind of request is:
// resolve the host, take the lease of its slots, fetch, settle. Settling gives the
// slots back, records the attempt and observes what the answer says about the
// domain's health. What differs by kind says package kinds.
//
// No request is made without a lease, and none outlasts it. A request that has begun
// is finished and recorded even if its caller is cancelled meanwhile.
package request
