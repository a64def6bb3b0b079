// Package imagestore stores the bytes of images under their SHA-256, in a directory or in a bucket
// of S3 or of a compatible service.
//
// Bytes under a key are complete and match the key. They are hashed before and during the write,
// and they appear under the key atomically. Bytes are hashed again when they are read. Any number
// of processes may use a store concurrently.
//
// Give every context a deadline, because calls wait for a slow service until then.
//
// The S3 client is minio-go. AWS's own library would make the worker 5.7 MB larger. Both libraries
// find credentials in the same places: the environment, profiles (with single sign-on or another
// program), roles, and the machine, container or pod. A third library, gocloud.dev's blob, is built
// on AWS's and adds 16 MB and 40 modules more.
package imagestore
