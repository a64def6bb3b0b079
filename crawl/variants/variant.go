// Package variants recognises URLs that are not worth a request: other views of pages, as common
// software makes them, files that cannot be parsed, and URLs excluded by an operator.
package variants

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// page is a parsed URL: its path, and its parameters, which some software separates by semicolons.
// Names of parameters are in lower case.
type page struct {
	path, query string
	params      map[string]string
}

func pageOf(u urls.URL) page {
	path, query, _ := strings.Cut(u.RequestTarget(), "?")
	p := page{path, query, make(map[string]string)}
	for param := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(param, "=")
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		name = strings.ToLower(name)
		if _, twice := p.params[name]; !twice {
			p.params[name] = value
		}
	}
	return p
}

func (p page) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, found := p.params[name]; return found })
}

// hasValue reports whether a parameter has one of the values, separated by spaces, in any case.
func (p page) hasValue(name, values string) bool {
	value, found := p.params[name]
	return found && slices.Contains(strings.Fields(values), strings.ToLower(value))
}

// isScript reports whether the path ends with one of the files, separated by spaces.
func (p page) isScript(names string) bool {
	return slices.Contains(strings.Fields(names), p.path[strings.LastIndexByte(p.path, '/')+1:])
}

func (p page) isNumber(name string) bool {
	value := p.params[name]
	return value != "" && strings.Trim(value, "0123456789") == ""
}

// variantRule is a rule: its description, and the test of a URL.
type variantRule struct {
	description string
	matches     func(page) bool
}

// variantRules holds the variants of common software, documented in docs/politeness.md. Each rule
// is so narrow that a page of other software is unlikely to match.
var variantRules = []variantRule{
	{"a directory listing in another order (Apache, nginx)", func(p page) bool {
		return strings.HasSuffix(p.path, "/") && (isLetterIn(p.params["c"], "NMSD") && isLetterIn(p.params["o"], "AD") && len(p.params) == 2 ||
			len(p.query) == 3 && p.query[1] == '=' && isLetterIn(p.query[:1], "NMSD") && isLetterIn(p.query[2:], "AD"))
	}},
	{"an edit form, a history or a similar view of a wiki page (MediaWiki)", func(p page) bool {
		return p.isMediaWiki() && (p.hasValue("action", "credits delete edit history info markpatrolled move print protect purge raw "+
			"render rollback submit unprotect unwatch watch") || p.has("veaction", "mobileaction"))
	}},
	{"an old version or a diff of a wiki page (MediaWiki)", func(p page) bool {
		return p.isMediaWiki() && p.has("oldid", "diff")
	}},
	{"the print view of a wiki page (MediaWiki)", func(p page) bool { return p.isMediaWiki() && p.hasValue("printable", "yes") }},
	{"a tool of a wiki (MediaWiki)", func(p page) bool {
		name := p.params["title"]
		if i := strings.LastIndex(p.path, "/Special:"); i >= 0 && name == "" {
			name = p.path[i+1:]
		}
		tool, found := strings.CutPrefix(name, "Special:")
		tool, _, _ = strings.Cut(strings.ToLower(tool), "/")
		// these lead to pages
		return found && tool != "allpages" && tool != "categories" && tool != "prefixindex"
	}},
	{"the reply form of a comment (WordPress)", func(p page) bool { return p.isNumber("replytocom") }},
	{"a share button (WordPress)", func(p page) bool {
		return p.hasValue("share", "bluesky email facebook linkedin mastodon nextdoor pinterest pocket print reddit skype "+
			"telegram threads tumblr twitter whatsapp x") && (p.has("nb") || len(p.params) == 1)
	}},
	{"a login or an administrator's page (WordPress)", func(p page) bool {
		return p.isScript("wp-login.php xmlrpc.php") || strings.Contains(p.path, "/wp-admin/")
	}},
	{"an add-to-cart button (WooCommerce)", func(p page) bool { return p.isNumber("add-to-cart") }},
	{"a form, a login or a search of a forum (phpBB)", func(p page) bool {
		return p.isScript("posting.php ucp.php mcp.php") && p.has("mode", "i") ||
			p.isScript("memberlist.php") && p.hasValue("mode", "contact contactadmin email searchuser") ||
			p.isScript("search.php") && p.has("search_id", "author_id", "keywords")
	}},
	{"the print view of a topic, or a neighboring topic (phpBB)", func(p page) bool {
		return p.isScript("viewtopic.php") && p.hasValue("view", "next previous print")
	}},
	{"a form, a login or a search of a forum (vBulletin)", func(p page) bool {
		return p.isScript("newreply.php newthread.php printthread.php sendmessage.php") && p.has("do", "f", "t", "p") ||
			p.isScript("login.php private.php profile.php register.php report.php search.php subscription.php") && p.has("do") ||
			p.isScript("showthread.php") && p.hasValue("goto", "nextnewest nextoldest")
	}},
	{"a form, a login or a search of a forum (SMF)", func(p page) bool {
		return p.isScript("index.php") && (p.hasValue("action", "emailuser login logout notify notifyboard printpage quotefast "+
			"register reminder reporttm search search2 sendtopic signup") ||
			p.hasValue("action", "post") && p.has("topic", "board") || p.has("topic") && p.hasValue("prev_next", "next prev"))
	}},
	{"an edit form, a history or a similar view of a wiki page (DokuWiki)", func(p page) bool {
		if p.isScript("doku.php") {
			return p.has("rev", "rev2[]", "rev2%5b0%5d") || p.hasValue("do", "admin backlink diff edit export_code export_html export_odt "+
				"export_pdf export_raw export_xhtml login media profile recent register resendpwd revisions search subscribe")
		}
		return !strings.HasSuffix(p.path, ".php") && p.hasValue("do", "backlink edit export_odt export_pdf export_raw export_xhtml revisions")
	}},
	{"an export for calendars", func(p page) bool {
		return p.hasValue("ical", "1") || p.hasValue("outlook-ical", "1") || p.hasValue("format", "ical ics") ||
			strings.HasSuffix(p.path, ".ics") || strings.HasSuffix(p.path, ".vcs")
	}},
}

func (p page) isMediaWiki() bool {
	return p.isScript("index.php") && p.has("title", "oldid", "diff") || strings.Contains(p.path, "/wiki/")
}

func isLetterIn(value, letters string) bool {
	return len(value) == 1 && strings.Contains(letters, value)
}

// Describe names the known variant of a page that a URL is; empty if it is not a known variant.
func Describe(u urls.URL) string {
	p := pageOf(u)
	for _, v := range variantRules {
		if v.matches(p) {
			return v.description
		}
	}
	return ""
}

// extensions lists the extensions of files that cannot be parsed. None also ends a host name or a
// script.
var extensions = func() map[string]string {
	all := make(map[string]string)
	for kind, names := range map[string]string{
		"an image":           "avif bmp gif heic ico jfif jpe jpeg jpg png psd svg svgz tif tiff webp xcf",
		"an archive":         "7z bz2 cab gz jar lz lz4 lzma rar tar tbz tbz2 tgz txz war xz z zip zst",
		"sound":              "aac aif aiff flac m4a mid midi mp3 oga ogg opus wav wma",
		"a video":            "3gp avi flv m4v mkv mov mp4 mpeg mpg ogv webm wmv",
		"a program":          "apk bin class deb dll dmg exe img iso msi pkg pyc rpm so swf wasm whl",
		"a font":             "eot otf ttf woff woff2",
		"an office document": "doc docm docx dot dotx epub mobi odg odp ods odt pdf pps ppt pptm pptx rtf xls xlsm xlsx",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = kind
		}
	}
	return all
}()

// Extension names the kind of file of a URL, if its extension is known and the file cannot be
// parsed; else it is empty. A name with a colon is a page about the file, such as File:Map.png of a
// wiki.
func Extension(u urls.URL) string {
	path, _, _ := strings.Cut(u.RequestTarget(), "?")
	name := path[strings.LastIndexByte(path, '/')+1:]
	i := strings.LastIndexByte(name, '.')
	if i < 1 || len(name)-i > 6 || strings.Contains(name, ":") || strings.Contains(name, "%3A") {
		return ""
	}
	extension := strings.ToLower(name[i+1:])
	kind, found := extensions[extension]
	if !found {
		return ""
	}
	return kind + " by its extension (." + extension + ")"
}
