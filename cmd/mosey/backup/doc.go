// Package backup has the commands that make a backup of a data directory, and bring one back.
//
// A place of backups is a directory or a bucket. It has the files of each backup in
// backups/NAME/, and the images of all backups beside. An image is stored under the hash of its
// bytes, and never changes. The file manifest.json is written last: a backup without one is not
// whole.
package backup
