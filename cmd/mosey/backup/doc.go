// Package backup has the commands that make a backup of a data directory, and bring one back.
//
// A place of backups is a directory or a bucket. It has the files of each backup in
// backups/NAME/, and images beside, which all backups share: they are stored under the hash of
// their bytes, and never change. manifest.json is written last, so that a backup without one is
// not whole.
package backup
