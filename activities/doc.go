// Package activities does Mosey's work for its workflows: it fetches, records and
// dispatches. Each file holds one activity: its input, its result, its method.
//
// Activity names and the JSON shape of inputs and results are an on-disk format:
// histories that are years old must still replay. No page content ever enters an
// input, a result or an error; each stays under 4 KB.
//
// An expected result, a page that answered 404 included, is a value. An error
// means "try again": either the site is in trouble, and the error carries how long
// to leave it alone (NextRetryDelay), or Mosey's own parts are, and Temporal's
// retry policy waits them out.
package activities
