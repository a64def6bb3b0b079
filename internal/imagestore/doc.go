// Package imagestore keeps the bytes of images under their SHA-256, in a directory or in a
// bucket of S3 or of another service that speaks its protocol.
//
// Bytes under a key are whole and are what the key says: they are hashed before and while
// they are written, and they appear under the key at once or not at all. Bytes that are read
// are hashed again. Any number of processes may use a store at the same time.
//
// Give every context a deadline: a service that is slow to answer is waited for until then.
//
// S3 is spoken by AWS's own library. It adds 4.3 MB and 18 modules to a program, minio-go
// (v7.4) 2.3 MB and 11. But the embedded Temporal server links AWS's anyway, and only that
// one has all ways to credentials: single sign-on, roles and other programs. gocloud.dev's
// blob, which is built on it, adds 16 MB and 40 modules.
package imagestore
