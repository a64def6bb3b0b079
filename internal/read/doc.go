// Package read gets out of an answer what there is to record of it: from a
// [request.Exchange] to a crawl.Attempt.
//
// [Reader.Crawl] asks for what is in the frontier. Once there is an answer,
// [request.Client] calls answer (answer.go), which sorts it: an error, a redirect,
// something unchanged, or a body. A body goes to the reader of its kind (readers):
// page.go with its links, images and words, sitemap.go or image.go. Each
// fills in the attempt: what the page shows, what its publisher says about its use
// (setUsage), and what of it becomes part of the run, as package decide says. When the
// attempt has been paced, settle adds what becomes of the page: when it is asked for
// again, or that it has failed. What an origin says about all its pages is read apart,
// since it decides whether they are asked for at all: robots.txt and tdmrep.json,
// by [Origin.Read].
//
// It has no rows: the little that it has to know of them is in [Store]. Errors are
// trouble of our own, such as a store that is away; what is wrong with an answer is
// recorded of it.
package read
