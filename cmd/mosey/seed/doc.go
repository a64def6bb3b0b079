// Package seed has the commands that put pages into runs, crawl and recrawl them, and
// what they show of a run meanwhile.
package seed
