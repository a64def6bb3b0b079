package web

import (
	"html"
	"strconv"
	"strings"
)

// branching is the number of child pages a page links to: page i links to 4i+1 to 4i+4, so that all
// are reachable from the root, page 0.
const branching = 4

// resource is the content of a request target.
type resource struct {
	behaviour Behaviour
	content   string    // of type ctype; "" for a page or robots.txt
	ctype     string    // media type of content
	href      string    // as written in links to it; "" is the path
	index     int       // of a numbered page, else -1
	image     bool      // an image of numbered pages
	linked    linkStyle // how numbered pages link here
	meta      string    // a tag for the head of the page
	missing   bool      // the target does not exist
	nofollow  bool      // meta forbids following the links
	robots    bool      // the site's robots.txt text
	to        []string  // paths this page links to, besides the root
	trap      bool      // part of the site's trap
}

type linkStyle int

const (
	linkNone linkStyle = iota
	linkPlain
	linkNofollow
)

// link is one reference in a page.
type link struct {
	href     string // as written, unescaped
	target   string // its canonical URL; "" if invalid
	nofollow bool
	image    bool
}

// find returns the content of a target on a host.
func (p *Plan) find(h host, target string) resource {
	if _, isRaw := h.site.Paths[target]; !isRaw {
		target = decoded(target)
	}
	res := p.findUnruled(h, target)
	if b, ok := h.site.Paths[target]; ok && h.role == roleMain {
		res.behaviour = b
	} else if res.missing && h.role == roleMain && h.site.Fallback != nil {
		res.behaviour, res.missing = h.site.Fallback, false
	}
	return res
}

func (p *Plan) findUnruled(h host, target string) resource {
	missing := resource{behaviour: Status{Code: 404}, index: -1, missing: true}
	if isRobots(target) {
		if res, ok := p.robots(h, target); ok {
			return res
		}
		return missing
	}
	switch h.role {
	case roleRules:
		return missing
	case roleWWW:
		return resource{behaviour: Redirect{To: p.URL(h.site.Host, target)}, index: -1}
	}
	if res, ok := h.site.special[target]; ok {
		return res
	}
	if i, ok := pageIndex(target); ok && i <= h.site.Pages {
		return resource{behaviour: h.site.Behaviour, index: i}
	}
	if i, ok := numbered(target, imagePath); ok && i <= h.site.Images*(h.site.Pages+1) {
		return resource{behaviour: h.site.Image, index: -1, image: true}
	}
	if h.site.Trap != TrapNone {
		if res, ok := trapKinds[h.site.Trap].page(target); ok {
			return res
		}
	}
	return missing
}

// pageIndex reads the number of a page from its path: 0 for "/".
func pageIndex(target string) (int, bool) {
	if target == "/" {
		return 0, true
	}
	return numbered(target, "/p/")
}

// imagePath is the prefix of a site's image paths.
const imagePath = "/image/"

// numbered reads the number, at least 1, after a prefix.
func numbered(target, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(target, prefix)
	if !ok || digits == "" || digits[0] == '0' || len(digits) > 7 {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i > 0
}

func pagePath(i int) string {
	if i == 0 {
		return "/"
	}
	return "/p/" + strconv.Itoa(i)
}

// links returns the references of a page, in the order they are written.
func (p *Plan) links(s *site, target string, res resource) []link {
	w := linker{plan: p, site: s, from: target, hasBase: hasBase(s, res)}
	if res.index < 0 {
		for _, path := range res.to {
			w.add(path)
		}
		w.add("/")
		return w.links
	}
	w.random = splitmix(uint64(s.index)<<32 | uint64(res.index))
	for i := branching*res.index + 1; i <= min(branching*res.index+branching, s.Pages); i++ {
		w.page(i)
	}
	w.addImages(res.index)
	if s.Trap != TrapNone && res.index == 0 {
		w.add(trapKinds[s.Trap].enter)
	}
	if !s.Plain {
		w.addSpecials(res.index)
		w.addNoise()
	}
	w.fill(res.index)
	return w.links
}

// hasBase reports whether a page has a <base>, as every third does.
func hasBase(s *site, res resource) bool {
	return !s.Plain && res.index%3 == 1
}

const basePath = "/deep/er/"

// linker collects the links of one page.
type linker struct {
	plan    *Plan
	site    *site
	from    string
	hasBase bool
	random  splitmix
	links   []link
}

// add links to a path of the site, unchanged.
func (w *linker) add(path string) {
	w.links = append(w.links, link{
		href: path, target: w.plan.URL(w.site.Host, path),
	})
}

// addImages links to the page's own images.
func (w *linker) addImages(index int) {
	for i := index * w.site.Images; i < (index+1)*w.site.Images; i++ {
		w.add(imagePath + strconv.Itoa(i+1))
		w.links[len(w.links)-1].image = true
	}
}

// addSpecials links to every special page from one of the numbered ones.
func (w *linker) addSpecials(index int) {
	for k, path := range w.site.order {
		if k%(w.site.Pages+1) != index {
			continue
		}
		w.add(path)
		l, res := &w.links[len(w.links)-1], w.site.special[path]
		l.nofollow = res.linked == linkNofollow
		if res.href != "" {
			l.href = res.href
		}
	}
	if index == 0 && (w.site.WWW || w.site.Robots == RobotsWWW) {
		w.addExternal("www."+w.site.Host, "/p/1")
	}
	if index == 0 && w.plan.unseededHost != "" && w.plan.unseededHost != w.site.Host {
		w.addExternal(w.plan.unseededHost, "/")
	}
}

// addExternal links to another host.
func (w *linker) addExternal(hostName, path string) {
	u := w.plan.URL(hostName, path)
	w.links = append(w.links, link{href: u, target: u})
}

// addNoise adds references that a crawler must ignore.
func (w *linker) addNoise() {
	for _, href := range []string{
		"mailto:someone@example.org", "javascript:void(0)", "tel:+123456789",
		"data:text/plain,hello", "http://[::1", "http://user:pw@" + w.site.Host + "/secret",
	} {
		w.links = append(w.links, link{href: href})
	}
	if !w.hasBase {
		self := w.plan.URL(w.site.Host, w.from)
		w.links = append(w.links, link{href: "#top", target: self}, link{href: "", target: self})
	}
	image := "/img/" + strconv.Itoa(w.random.below(10)) + ".png"
	w.links = append(w.links, link{
		href: image, target: w.plan.URL(w.site.Host, image), image: true,
	})
}

// fill adds links to random pages of this and of other sites.
func (w *linker) fill(index int) {
	cross := int(w.plan.opts.CrossLinks * 1000)
	for len(w.links) < w.plan.opts.Links {
		if len(w.plan.sites) == 1 || w.random.below(1000) >= cross {
			w.page(w.random.below(w.lastPage(w.site, index) + 1))
			continue
		}
		other := w.plan.sites[w.random.below(len(w.plan.sites))]
		if other.Unseeded {
			continue
		}
		w.addExternal(other.Host, pagePath(w.random.below(w.lastPage(other, index)+1)))
	}
}

// lastPage returns the last page of a site for the filling links of a page.
func (w *linker) lastPage(to *site, index int) int {
	if w.site.KnownLinksOnly {
		return min(branching*index, to.Pages)
	}
	return to.Pages
}

// page links to a page of the site in one of many spellings with the same canonical URL.
func (w *linker) page(i int) {
	path := pagePath(i)
	l := link{href: path, target: w.plan.URL(w.site.Host, path)}
	if !w.site.Plain {
		l.href = w.disguise(path)
	}
	w.links = append(w.links, l)
}

func (w *linker) disguise(path string) string {
	name, rest, scheme := w.site.Host, path[1:], w.plan.scheme(w.site.Host)
	port := strconv.Itoa(w.plan.opts.Port)
	switch w.random.below(15) {
	case 0:
		return w.plan.URL(name, path)
	case 1:
		return path + "#section-2"
	case 2:
		return path + "?utm_source=synth&utm_medium=link"
	case 3:
		return "/x/.././" + rest
	case 4:
		return strings.ToUpper(scheme+"://"+name) + ":" + port + path
	case 5:
		return scheme + "://" + name + ":0" + port + path
	case 6:
		return strings.Replace(path, "/p", "/%70", 1)
	case 7:
		return "//" + w.plan.authority(name) + path
	case 8:
		return "\n\t " + path + " "
	case 9:
		return path + "?PHPSESSID=0123456789abcdef"
	case 10:
		return scheme + "://" + name + ".:" + port + path
	case 11:
		return path + "?"
	case 12, 13:
		return w.relative(path)
	}
	return path
}

// relative returns a reference from this page, or from its base.
func (w *linker) relative(path string) string {
	depth := strings.Count(w.from, "/") - 1
	if w.hasBase {
		depth = strings.Count(basePath, "/") - 1
	}
	if ref := strings.Repeat("../", depth) + path[1:]; ref != "" {
		return ref
	}
	return "./"
}

// render writes a page of about opts.PageBytes.
func (p *Plan) render(s *site, target string, res resource) []byte {
	b := make([]byte, 0, p.opts.PageBytes+2<<10)
	tag := "en"
	if p.opts.Prose {
		tag = proses[s.index%len(proses)].tag
	}
	b = append(b, "<!doctype html>\n<html lang=\""...)
	b = append(b, tag...)
	b = append(b, "\"><head><meta charset=\"utf-8\"><title>"...)
	b = append(b, s.Host...)
	b = append(b, ' ')
	b = append(b, html.EscapeString(target)...)
	b = append(b, "</title>"...)
	b = append(b, res.meta...)
	if res.index == 0 && s.FeedItems > 0 {
		b = append(b, `<link rel="alternate" type="application/rss+xml" href="`+feedPath+`">`...)
	}
	if hasBase(s, res) {
		b = append(b, "<base href=\""+basePath+"\">"...)
	}
	b = append(b, "</head><body><h1>"...)
	b = append(b, s.Host...)
	b = append(b, "</h1>\n"...)
	if res.index >= 0 {
		b = appendUnique(b, splitmix(uint64(s.index)<<32|uint64(res.index)))
	}
	b = append(b, "<ul>\n"...)
	for _, l := range p.links(s, target, res) {
		b = l.append(b)
	}
	b = append(b, "</ul>\n"...)
	if p.opts.Prose {
		b = proses[s.index%len(proses)].append(b, splitmix(uint64(s.index)<<32|uint64(max(res.index, 0))))
		if rest := p.opts.PageBytes - len(b); rest > 0 {
			b = append(b, `<script type="application/json">"`...)
			b = append(b, strings.Repeat("mosey ", rest/6)...)
			b = append(b, `"</script>`...)
		}
		return append(b, "</body></html>\n"...)
	}
	for i := s.index + 7*max(res.index, 0); len(b) < p.opts.PageBytes; i++ {
		b = append(b, "<p>"...)
		b = append(b, paragraphs[i%len(paragraphs)]...)
		b = append(b, "</p>\n"...)
	}
	return append(b, "</body></html>\n"...)
}

// uniqueWords is the length of the page's unique sentence.
const uniqueWords = 24

// appendUnique writes a sentence that is unique to the page.
func appendUnique(b []byte, random splitmix) []byte {
	b = append(b, "<p>This page alone says"...)
	for range uniqueWords {
		b = append(b, ' ')
		for range 6 {
			b = append(b, 'a'+byte(random.below(26)))
		}
	}
	return append(b, ".</p>\n"...)
}

func (l link) append(b []byte) []byte {
	if l.image {
		b = append(b, "<img alt=\"\" src=\""...)
		b = append(b, html.EscapeString(l.href)...)
		return append(b, "\">\n"...)
	}
	b = append(b, "<li><a href=\""...)
	b = append(b, html.EscapeString(l.href)...)
	if l.nofollow {
		b = append(b, "\" rel=\"external NOFOLLOW"...)
	}
	return append(b, "\">a link</a></li>\n"...)
}

// splitmix is Vigna's SplitMix64, a small generator whose sequence depends only on its seed on
// every platform.
type splitmix uint64

// below returns a number from 0 to n-1; n must be positive.
func (s *splitmix) below(n int) int {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return int(z % uint64(n))
}
