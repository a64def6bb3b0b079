// Package extract reads what Mosey keeps of an HTML page: its title, its links,
// and what it says about itself to crawlers.
//
// Pages are hostile, so time and memory are bounded. A small and sane page is
// read through its DOM. A page that is too big, too deeply nested, or too slow
// to build a DOM of is read tag by tag in linear time. That finds the same,
// except for markup that only makes sense in a tree.
//
// # What counts as a link
//
//   - href of a and area
//   - href of link with rel=next or rel=prev (also "previous")
//   - src of iframe and frame
//   - the target of meta http-equiv=refresh
//
// Stylesheets, scripts, images and alternate versions (feeds, translations) are
// not links. Forms are never followed.
//
// # What counts as an image
//
// Images are looked for only if [Limits].Images asks for them:
//
//   - src and srcset of img, srcset of the sources of a picture, and the attributes
//     from which scripts fill these in when the image comes into view (data-src and
//     others)
//   - url() and image-set() in background and background-image of a style attribute, and
//     the attributes from which scripts fill in a background (data-bg, data-bgset and others)
//   - meta og:image and twitter:image, and link rel=image_src
//   - link rel=icon and rel=apple-touch-icon
//
// One element, or one picture, names one image, in several sizes and formats. The URL to
// fetch has a format that can be decoded and the largest declared width up to 4,096 pixels,
// or if all are wider, the smallest. The others are its variants, except a placeholder that
// a script replaces (spacer.gif). If a page names one of them again elsewhere, such as in
// noscript, that is the same image. [Image].Discovery is how the page names the URL. If
// there are several ways, the first in the order of the constants of [crawl.Discovery]
// counts. A text or a size that is missing in one place is filled in from another.
//
// Images in data: URLs and drawings in SVG are counted, not listed. Posters of videos,
// buttons of forms, and images that only a stylesheet, a script or JSON-LD names are not
// looked for.
package extract
