// Package extract reads an HTML page's title, links and declarations to crawlers.
//
// Pages are hostile, so time and memory are bounded. A small and sane page is read through its
// DOM. A page that is too big, too deeply nested, or too slow to build a DOM of is read tag by
// tag in linear time. The results differ only for markup that requires a tree.
//
// # Links
//
//   - href of a and area
//   - href of link with rel=next or rel=prev (also "previous")
//   - src of iframe and frame
//   - the target of meta http-equiv=refresh
//
// Stylesheets, scripts, images and alternate versions (feeds, translations) are not links. Forms
// are never followed.
//
// # Images
//
// Images are extracted only if [Limits].Images is set:
//
//   - src and srcset of img, srcset of the sources of a picture, and the attributes that scripts
//     copy into these when the image comes into view (data-src and others)
//   - url() and image-set() in background and background-image of a style attribute, and the
//     attributes that scripts copy into a background (data-bg, data-bgset and others)
//   - meta og:image and twitter:image, and link rel=image_src
//   - link rel=icon and rel=apple-touch-icon
//
// One element, or one picture, names one image, in several sizes and formats. The URL to fetch
// has a format that can be decoded and the largest declared width up to 4,096 pixels. If all are
// wider, it is the smallest. The other URLs are its variants, except placeholders that a script
// replaces (spacer.gif). A repeated URL, such as in noscript, names the same image.
// [Image].Discovery records how the page names the URL, by the first way in the order of the
// constants of [crawl.Discovery]. A missing text or size is filled in from another occurrence.
//
// Images in data: URLs and drawings in SVG are counted, not listed. Posters of videos, buttons of
// forms, and images named only in a stylesheet, a script or JSON-LD are ignored.
package extract
