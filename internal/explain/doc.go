// Package explain puts what is stored into sentences: why a page, a domain or a run is
// asked or not, and when it goes on. The command line and the web page say the same.
package explain
