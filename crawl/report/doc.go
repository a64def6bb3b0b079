// Package report defines the results of operators' queries: the state of a run, a domain or a page,
// and the results of an audit, a search or an export. The database fills them and the commands
// print them. No decision depends on them.
package report
