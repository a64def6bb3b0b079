// Package variants knows which URLs are not worth a request by what they are: other
// views of pages that the common software also shows otherwise, files that cannot be
// parsed, and what a person has excluded.
package variants
