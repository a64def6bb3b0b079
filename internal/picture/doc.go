// Package picture reads one image file. It returns its format, its size, its metadata,
// and two perceptual hashes, by which the picture is found again after it was made
// smaller or saved anew.
//
// # Hostile files
//
// A file is a stranger's. Its structure is read first, from front to back in small
// pieces. Then its size is compared with the limits, and the memory for decoding is
// estimated from its headers. All pictures that are decoded at a time share one budget
// of memory and a number of places. Each step reads a file at most about twice, however
// often it points at its own bytes. A decoder that panics costs one picture. Metadata
// are read within bounds of their own, and malformed metadata do not make the picture
// malformed.
//
// JPEG, PNG, GIF, WebP, BMP and TIFF are decoded. Of AVIF and HEIC, for which there is
// no decoder in Go, the size and the metadata are read. Of an animation, the first frame
// is decoded, where it is on its canvas.
//
// # Hashes
//
// The hashes are those of Python's ImageHash 4.3 (phash and dhash with their defaults),
// to be compared by Hamming distance:
//
//  1. The picture is turned the right way up by its EXIF orientation, and laid on white
//     where it is transparent. ImageHash does neither.
//  2. Each pixel becomes one byte of brightness: (19595R + 38470G + 7471B + 32768) >> 16.
//     Of JPEG and lossy WebP, it is the luma sample, that of WebP stretched from 16 to 235
//     to 0 to 255.
//  3. With 1,024 pixels or more in a direction, pixels are averaged, rounded to the
//     nearest, in that direction by n/512 at a time, rounded down: so at least 512 cells
//     remain, 16 for each that comes next. The last cell can stand for fewer pixels, and
//     counts as that much narrower.
//  4. The picture is resized with a Lanczos filter of three lobes as Pillow does it, to
//     the bit: rows first, with weights in units of 2^-22, rounded to bytes; then columns.
//  5. dHash: at 9×8, a bit for each cell that is brighter than its left neighbour, row by
//     row, the first bit the most significant.
//  6. pHash: at 32×32, a two-dimensional DCT-II, in integers of 2^-20. Of its 8×8 lowest
//     frequencies, a bit for each that is greater than the median of the 64, row by row.
//
// Of 200 pictures, 197 have the same pHash as with Pillow and SciPy and 195 the same
// dHash; no hash differs in more than two bits (TestReference). 180 of them have less
// than 1,024 pixels in each direction. With 256 cells in place of 512 it would be 195
// and 180, and the dHash of single colours under noise would differ in up to five bits.
//
// Pictures are similar up to a distance of 8. Pages of text with the same layout are
// similar by pHash alone; pictures that both hashes find are right (TestPrecision).
//
// # Flat pictures
//
// A picture is flat if noise, or a few shapes that many pictures have, decide the bits
// of its hashes. Two measures of the 32×32 plane show that:
//
//   - the entropy of its shades is less than 2 bits; or
//   - fewer than 32 of its 63 lowest frequencies, the mean not among them, are farther
//     from the median of all than a wave of half a shade is from nothing.
//
// TestFlat prints both measures for ten kinds of pictures: all of one colour, faint noise,
// gradients, logos, words and bars are flat, and one of 20 pages of text; no photograph is.
package picture
