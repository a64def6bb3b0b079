// Package variants recognises URLs that are not worth a request: other views of
// pages, as common software makes them, files that cannot be parsed, and URLs that a
// person has excluded.
package variants
