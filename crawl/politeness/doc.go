// Package politeness computes the wait between requests to a host: from its runs, people's
// decisions, its robots.txt, its last answers, the time of day, and its shared addresses.
package politeness
