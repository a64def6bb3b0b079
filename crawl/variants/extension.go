package variants

import (
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// extensions are those of files that cannot be parsed. None of them is also the end
// of a host name or of a script.
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

// Extension says in words what kind of file a URL leads to, if its extension is
// known and the file cannot be parsed; else it is empty. A name with a colon is a
// page about the file, such as File:Map.png of a wiki.
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
