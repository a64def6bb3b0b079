// Package picture reads one image file. It returns its format, its size, its metadata, and two
// perceptual hashes, which identify the picture after it was scaled down or saved again.
//
// # Hostile files
//
// Files are untrusted. First, the structure of a file is read in one pass in small pieces. Then its
// size is compared with the limits, and the memory for decoding is estimated from its headers.
// Concurrent decodes share a memory budget and a number of slots. Each step reads a file at most
// about twice, however often it points at its own bytes. A decoder that panics costs one picture.
// Metadata have bounds of their own, and malformed metadata do not make the picture malformed.
//
// JPEG, PNG, GIF, WebP, BMP and TIFF are decoded. For AVIF and HEIC, which have no decoder in Go,
// only the size and the metadata are read. For an animation, the first frame is decoded at its
// position on the canvas.
//
// # Hashes
//
// The hashes equal Python's ImageHash 4.3 (phash and dhash with their defaults). Compare them by
// Hamming distance:
//
//  1. The picture is turned the right way up by its EXIF orientation, and laid on white
//     where it is transparent. ImageHash does neither.
//  2. Each pixel becomes one byte of brightness: (19595R + 38470G + 7471B + 32768) >> 16.
//     For JPEG and lossy WebP, it is the luma sample. WebP's is stretched from 16 to 235 to 0 to
//     255.
//  3. With n pixels in a direction, 1,024 or more, groups of n/512 pixels, rounded down, are
//     averaged in that direction and rounded to the nearest. At least 512 cells remain, 16 for each
//     cell of step 4. The last cell can average fewer pixels, and counts as narrower accordingly.
//  4. The picture is resized with a Lanczos filter of three lobes, equal to Pillow's to the bit:
//     rows first, with weights in units of 2^-22, rounded to bytes; then columns.
//  5. dHash: at 9×8, a bit for each cell that is brighter than its left neighbour, row by
//     row, the first bit the most significant.
//  6. pHash: at 32×32, a two-dimensional DCT-II, in integers of 2^-20. For its 8×8 lowest
//     frequencies, a bit for each that is greater than the median of the 64, row by row.
//
// For 197 of 200 pictures, the pHash equals Pillow's and SciPy's, and for 195 the dHash. No hash
// differs in more than two bits (TestReference). 180 of them have less than 1,024 pixels in each
// direction. With 256 cells instead of 512, 195 and 180 would be equal, and the dHash of single
// colours under noise would differ in up to five bits.
//
// Pictures are similar up to a distance of 8. By pHash alone, pages of text with the same layout
// are similar. Matches by both hashes are right (TestPrecision).
//
// # Flat pictures
//
// A picture is flat if noise, or a few common shapes, decide the bits of its hashes. Two measures
// of the 32×32 plane show that:
//
//   - the entropy of its shades is less than 2 bits; or
//   - fewer than 32 of its 63 lowest frequencies, without the mean, differ from the median of all
//     by more than the amplitude of a wave of half a shade.
//
// TestFlat prints both measures for ten kinds of pictures. Single colours, faint noise, gradients,
// logos, words, bars and one of 20 pages of text are flat. No photograph is flat.
package picture
