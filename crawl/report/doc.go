// Package report has the answers to people's questions: how a run, a domain or a page
// stands, what an audit, a search or an export found. The database fills them and the
// commands print them. No decision is made from them.
package report
