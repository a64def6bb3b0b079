// Package read extracts the data to record from a response: from a [request.Exchange] to a
// crawl.Attempt.
//
// [Reader.Crawl] requests a page of the frontier. [request.Client] calls handleResponse (answer.go)
// with the response, which is an error, a redirect, unchanged, or a body. A body goes to the reader
// of its kind (readerOf): page.go with its links, images and words, sitemap.go or image.go. Each
// fills in the attempt: the content of the page, the usage that its publisher declares
// (applyUsage), and its new pages for the run, by package decide. When the attempt has been paced,
// settle adds the page's failure or its next visit. Files for a whole origin, robots.txt and
// tdmrep.json, are read apart by [Origin.Read], because they decide whether pages are requested at
// all.
//
// The package has no rows; it reads the few that it needs from [Store]. Its errors are our own
// failures, such as a lost store. Faults of a response are recorded with the attempt.
package read
