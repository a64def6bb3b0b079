// Package imagestore keeps the bytes of images under their SHA-256, in a directory or in a
// bucket of S3 or of another service that speaks its protocol.
//
// Bytes under a key are whole and are what the key says: they are hashed before and while
// they are written, and they appear under the key at once or not at all. Bytes that are read
// are hashed again. Any number of processes may use a store at the same time.
//
// Give every context a deadline: a service that is slow to answer is waited for until then.
//
// S3 is spoken by minio-go. AWS's own library would make the worker 5.7 MB larger. Both
// libraries find credentials in the same places: the environment, profiles (with single
// sign-on or another program), roles, and the machine, container or pod. gocloud.dev's
// blob, which is built on AWS's, adds 16 MB and 40 modules more.
package imagestore
