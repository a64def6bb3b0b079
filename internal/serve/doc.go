// Package serve shows a crawl in a browser: what is going on, why, and when it goes on. Every
// page is rendered here, begins with one sentence, and is had as JSON below /api.
//
// What the pages show comes from hostile sites. The templates escape it, and the browser is
// told to run nothing that is not of this package (Content-Security-Policy, Trusted Types).
package serve
