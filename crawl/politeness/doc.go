// Package politeness computes how long to leave a host alone: from its runs, people's decisions,
// its robots.txt, its last answers, the time of day, and the addresses that it shares with others.
package politeness
