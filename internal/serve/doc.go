// Package serve shows a crawl in a browser: its activity, the reasons, and when it resumes. The
// server renders every page, which begins with one sentence and has a JSON version below /api.
//
// The pages show content of hostile sites. The templates escape it, and the browser only runs this
// package's code (Content-Security-Policy, Trusted Types).
package serve
