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
package extract
