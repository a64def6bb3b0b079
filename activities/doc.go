// Package activities does Mosey's work for its workflows: it fetches, records and
// dispatches. Each file holds one activity: its input, its result, its method.
//
// Activity names and the JSON shape of inputs and results are an on-disk format:
// histories that are years old must still replay. No page content ever enters an
// input, a result or an error; each stays under 4 KB.
//
// An expected result, a page that answered 404 included, is a value. A site in
// trouble ends the activity with an error whose details are the result, which says
// how long to leave the site alone (ResultOf): the workflow waits. Any other error
// means that Mosey's own parts are in trouble, and Temporal's retry policy waits
// that out.
package activities
