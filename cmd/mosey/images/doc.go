// Package images has the commands about images and the store of their bytes.
package images
