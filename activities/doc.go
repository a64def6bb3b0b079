// Package activities does Mosey's work for its workflows: it fetches, records and dispatches. Each
// file holds one activity: its input, its result, its method.
//
// Activity names and the JSON shape of inputs and results are an on-disk format: histories that are
// years old must still replay. Inputs, results and errors never contain page content, and each
// stays under 4 KB.
//
// An expected result, such as a 404, is a value. A failure of a site is an error of type
// TypeSiteFailure, and Temporal retries the activity after the site's wait. Any other error is a
// failure of Mosey's own parts, which Temporal's retry policy waits out.
package activities
