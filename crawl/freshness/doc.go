// Package freshness decides when a page is worth asking for again, and whether an answer brings
// anything new: RFC 9111 and the conditional requests of RFC 9110.
package freshness
