// Package politeness computes how long to leave a host alone: from its runs, its
// owner's wishes, its robots.txt, its last answers and answer times, the time of
// day, and the machine that it shares with others.
package politeness
