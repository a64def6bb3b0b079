// Package politeness computes the wait between requests to a host: from its runs, operators'
// decisions, its robots.txt, its last responses, the time of day, and its shared addresses.
package politeness
