// Package activities does Mosey's work for its workflows: it fetches, records and
// dispatches. Each file holds one activity: its input, its result, its method.
//
// Activity names and the JSON shape of inputs and results are an on-disk format:
// histories that are years old must still replay. No page content ever enters an
// input, a result or an error; each stays under 4 KB.
//
// An expected result, such as a 404, is a value. A failure of a site is an error whose
// details are the result (ResultOf), and the workflow waits. Any other error is a failure
// of Mosey's own parts: Temporal's retry policy waits it out.
package activities
