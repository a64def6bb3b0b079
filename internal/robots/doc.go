// Package robots reads robots.txt by RFC 9309 and decides about paths.
//
// [Parse] takes the body of a robots.txt, however broken, and never fails. Then [File.Rules]
// selects the group for one product token, and [Rules.Decide] decides about one path. Only that
// group is stored between two visits, by [Rules.String] and [Restore]. The package does no I/O and
// uses no clock. The caller judges the response status (4xx, 429, 5xx, network errors) before
// passing a body.
//
// # Reading
//
// At most [MaxBytes] of the file and [MaxLineBytes] of a line count. Lines end with LF, CR or CRLF.
// A byte order mark, whole or cut, is dropped, and UTF-16 with one is decoded. Groups of the same
// token are merged, rules before any user-agent line are dropped, unknown lines change nothing (RFC
// 9309 §2.2). Crawl-delay, Content-Signal and Sitemap are not in the RFC. The first two bind the
// user-agent lines right before them and, unlike a rule, do not end their group. White space and
// control characters around a value are dropped.
//
// # Matching
//
// The matching rule with the most octets wins, Allow wins a tie, and unmatched paths are allowed
// (§2.2.2). "*" matches any run of octets and a final "$" the end (§2.2.3). Rules and paths are
// compared in one percent-encoded form: escapes of unreserved characters are decoded, octets that a
// URI cannot hold raw are escaped, hexadecimal digits are upper case. "/robots.txt" is always
// allowed (§2.2.2).
//
// github.com/temoto/robotstxt decides if its regular expressions are sure to be cheap. Otherwise
// the package's own matcher decides, in time linear in the group and the path. Tests check that
// both agree.
//
// # Choices
//
// The RFC is silent, or crawlers disagree, on some points. Rules and paths are decoded alike, so
// "/%62ar" binds "/bar" (Google compares as written). "index.html" is not the directory (only
// Google says so). "/*" is longer than "/". Google's list of misspelled field names is understood.
//
// Malformed rules are read in their strictest meaning. A "%" that begins no escape, as in
// "Disallow: /*%" or "/a%2", stands for itself and for the beginning of any escape. A Disallow
// without its leading slash gets one, and "Disallow; /a" counts as one. An Allow with such a
// mistake allows nothing.
package robots
