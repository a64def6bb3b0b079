package picture

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bep/imagemeta"

	"github.com/mosey-web/mosey/crawl"
)

// The bounds of metadata: the length of a stored text in bytes, and for each file the number of
// tags, the length of a tag, and the bytes and reads.
const (
	textBytesMax  = 500
	tagsMax       = 1_000
	tagBytesMax   = 2_000
	metaBytesMax  = 4 << 20
	metaReadsMax  = 2_000
	xmpDepthMax   = 50     // of elements in a packet
	xmpTokensMax  = 20_000 // of a packet
	dateTimeBytes = len("2006:01:02 15:04:05")
)

// metadata holds a file's metadata: EXIF, else XMP, else IPTC.
type metadata struct {
	crawl.ImageMeta
	orientation orientation
}

// readMetadata reads the metadata of the file and of the survey. It ignores malformed metadata.
func readMetadata(found *survey, src *source) metadata {
	t := &texts{orientation: 1, exif: map[string]string{}, xmp: map[string]string{}, iptc: map[string]string{}}
	switch found.format {
	case crawl.ImageJPEG:
		t.read(src.grantMetadata(), imagemeta.JPEG, imagemeta.EXIF|imagemeta.XMP|imagemeta.IPTC)
	case crawl.ImageTIFF:
		t.read(src.grantMetadata(), imagemeta.TIFF, imagemeta.EXIF|imagemeta.XMP|imagemeta.IPTC)
	case crawl.ImageAVIF, crawl.ImageHEIC:
		t.read(src.grantMetadata(), imagemeta.HEIF, imagemeta.EXIF|imagemeta.XMP)
		t.orientation = 1 // the size already includes the orientation, which is in a box
	case crawl.ImagePNG, crawl.ImageGIF, crawl.ImageWebP, crawl.ImageBMP:
	}
	if len(found.exif) > 0 { // a TIFF without a picture
		exif := &source{ctxErr: src.ctxErr, file: bytes.NewReader(found.exif), size: int64(len(found.exif))}
		t.read(exif.grantMetadata(), imagemeta.TIFF, imagemeta.EXIF)
	}
	if len(found.xmp) > 0 {
		readXMP(bytes.NewReader(found.xmp), t.xmp)
	}
	return t.metadata()
}

// grantMetadata grants the reads for metadata. The library has no bounds. It follows directories
// that point at each other, and items without bytes. Each of its steps is a read, which is counted.
func (s *source) grantMetadata() *io.SectionReader { return s.grant(metaBytesMax, metaReadsMax) }

// sizeOf reads the size of a file without a decoder.
func (s *survey) sizeOf(file io.ReadSeeker, format imagemeta.ImageFormat) error {
	result, err := imagemeta.Decode(imagemeta.Options{R: file, ImageFormat: format, Sources: imagemeta.CONFIG})
	s.width, s.height = result.ImageConfig.Width, result.ImageConfig.Height
	return err
}

// texts holds the tags and properties that were read.
type texts struct {
	orientation     orientation
	exif, xmp, iptc map[string]string
	// xmpRead is set after the first packet. Files have only one.
	xmpRead bool
}

// read reads the wanted tags of a file, without the location where it was taken.
func (t *texts) read(file io.ReadSeeker, format imagemeta.ImageFormat, from imagemeta.Source) {
	// Keep the values before a fault.
	_, _ = imagemeta.Decode(imagemeta.Options{
		R: file, ImageFormat: format, Sources: from, LimitNumTags: tagsMax, LimitTagSize: tagBytesMax,
		HandleTag: t.store,
		ShouldHandleTag: func(tag imagemeta.TagInfo) bool {
			return tag.Source == imagemeta.EXIF && slices.Contains(exifWanted, tag.Namespace+"/"+tag.Tag) ||
				tag.Source == imagemeta.IPTC && slices.Contains(iptcWanted, tag.Tag)
		},
		HandleXMP: func(packet io.Reader) error {
			if !t.xmpRead {
				t.xmpRead = true
				readXMP(packet, t.xmp)
			}
			_, err := io.Copy(io.Discard, packet)
			return err
		},
	})
}

var exifWanted = []string{
	"IFD0/Orientation", "IFD0/Make", "IFD0/Model", "IFD0/Artist", "IFD0/Copyright",
	"IFD0/ExifIFDP/DateTimeOriginal",
}

// The library decodes the tags of IPTC by CodedCharacterSet.
var iptcWanted = []string{"By-line", "Credit", "CopyrightNotice", "CodedCharacterSet"}

func (t *texts) store(tag imagemeta.TagInfo) error {
	values := t.exif
	if tag.Source == imagemeta.IPTC {
		values = t.iptc
	}
	switch v := tag.Value.(type) {
	case uint16:
		if tag.Tag == "Orientation" && v >= 1 && v <= 8 {
			t.orientation = orientation(v)
		}
	case string:
		setFirst(values, tag.Tag, v)
	case []string:
		if len(v) > 0 {
			setFirst(values, tag.Tag, v[0])
		}
	}
	return nil
}

// setFirst stores the first non-empty value of a name, cleaned and bounded.
func setFirst(values map[string]string, name, value string) {
	if values[name] == "" {
		values[name] = strings.TrimSpace(crawl.CleanText(strings.TrimSpace(value), textBytesMax))
	}
}

// metadata combines the texts.
func (t *texts) metadata() metadata {
	m := metadata{orientation: t.orientation}
	m.Camera = t.exif["Model"]
	maker, _, _ := strings.Cut(t.exif["Make"], " ")
	if !strings.HasPrefix(strings.ToLower(m.Camera), strings.ToLower(maker)) { // a model often begins with its maker
		m.Camera = crawl.CleanText(strings.TrimSpace(t.exif["Make"]+" "+m.Camera), textBytesMax)
	}
	m.TakenAt = firstTime(t.exif["DateTimeOriginal"], t.xmp["DateTimeOriginal"], t.xmp["DateCreated"])
	m.Creator = cmp.Or(t.exif["Artist"], t.xmp["creator"], t.iptc["By-line"])
	m.Credit = cmp.Or(t.xmp["Credit"], t.iptc["Credit"])
	m.Copyright = cmp.Or(t.exif["Copyright"], t.xmp["rights"], t.iptc["CopyrightNotice"])
	m.License = cmp.Or(t.xmp["WebStatement"], t.xmp["license"], t.xmp["LicensorURL"])
	return m
}

// firstTime returns the first valid time of EXIF or XMP, on the clock of the camera.
func firstTime(texts ...string) time.Time {
	for _, text := range texts {
		text = text[:min(len(text), dateTimeBytes)]
		for _, layout := range []string{"2006:01:02 15:04:05", "2006-01-02T15:04:05", "2006-01-02"} {
			if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 {
				return at
			}
		}
	}
	return time.Time{}
}

// xmpWanted are the wanted properties with their namespaces.
var xmpWanted = map[xml.Name]bool{
	{Space: "http://purl.org/dc/elements/1.1/", Local: "creator"}:         true,
	{Space: "http://purl.org/dc/elements/1.1/", Local: "rights"}:          true,
	{Space: "http://ns.adobe.com/photoshop/1.0/", Local: "Credit"}:        true,
	{Space: "http://ns.adobe.com/photoshop/1.0/", Local: "DateCreated"}:   true,
	{Space: "http://ns.adobe.com/exif/1.0/", Local: "DateTimeOriginal"}:   true,
	{Space: "http://ns.adobe.com/xap/1.0/rights/", Local: "WebStatement"}: true,
	{Space: "http://creativecommons.org/ns#", Local: "license"}:           true,
	{Space: "http://ns.useplus.org/ldf/xmp/1.0/", Local: "LicensorURL"}:   true,
}

// readXMP reads the wanted properties of a packet as far as it is well-formed. They are attributes,
// or elements with a text, a list or a resource.
func readXMP(packet io.Reader, values map[string]string) {
	d := xml.NewDecoder(packet)
	var in []bool // whether each open element is wanted or within a wanted element
	var name string
	var text strings.Builder
	for range xmpTokensMax {
		token, err := d.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(in) == xmpDepthMax {
				return
			}
			within := len(in) > 0 && in[len(in)-1]
			if !within && xmpWanted[t.Name] {
				within, name = true, t.Name.Local
				text.Reset()
			}
			in = append(in, within)
			for _, a := range t.Attr {
				if xmpWanted[a.Name] {
					setFirst(values, a.Name.Local, a.Value)
				} else if within && a.Name.Local == "resource" {
					setFirst(values, name, a.Value)
				}
			}
		case xml.CharData:
			if len(in) > 0 && in[len(in)-1] && text.Len() < textBytesMax {
				text.Write(t)
			}
		case xml.EndElement:
			if len(in) == 0 {
				return
			}
			if in[len(in)-1] && strings.TrimSpace(text.String()) != "" {
				setFirst(values, name, text.String())
			}
			in = in[:len(in)-1]
		}
	}
}
