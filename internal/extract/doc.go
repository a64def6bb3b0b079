// Package extract reads what Mosey keeps of an HTML page: its title, its links,
// and what it says about itself to crawlers.
//
// Pages are hostile. Time and memory are bounded whatever the page holds: a
// page that is small and sane is read through its DOM; one that is too big, too
// deeply nested or too slow to build a DOM of is read tag by tag instead, which
// takes linear time and finds the same, but for markup that only makes sense in
// a tree.
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
// All that one element or one picture names is one image, in several sizes and formats.
// Its URL is that of a format that can be decoded and of the largest declared width up to
// 4,096 pixels; if all are wider, of the smallest. The others are its variants, but for
// a src that only holds the place until a script has filled it in (spacer.gif). If a page
// names one of them again elsewhere, as the copy in noscript does, that is the same image.
// [Image].Discovery is how the page names the URL; if in several ways, it is the first of
// them in the order of the constants of [crawl.Discovery]. A text or a size that is missing
// in one place is filled in from another.
//
// Images in data: URLs and drawings in SVG are counted, not listed. Posters of videos,
// buttons of forms, and images that only a stylesheet, a script or JSON-LD names are not
// looked for.
package extract
