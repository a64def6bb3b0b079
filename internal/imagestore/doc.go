// Package imagestore keeps the bytes of images under the SHA-256 of these bytes, in a
// directory or in a bucket of S3, of what speaks its protocol, of Google Cloud Storage or of
// Azure.
//
// What is under a key is whole and is what the key says: it is hashed before and while it
// is written, and appears under its key at once or not at all. What it gives back is hashed
// again. Any number of processes may use a store at the same time.
//
// Each call lasts no longer than its context: a service that does not answer is asked again
// until then, so give every context a deadline.
package imagestore
