package picture

import (
	"encoding/xml"
	"io"
	"strings"
)

// xmpDepthMax and xmpTokensMax bound a packet of XMP.
const (
	xmpDepthMax  = 50
	xmpTokensMax = 20_000
)

// xmpWanted are the properties that are read, and the namespaces that they are in.
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

// readXMP reads the wanted properties of a packet, wherever in it they are: as
// attributes, as elements with a text, a list or a resource. It reads as far as the
// packet is well-formed.
func readXMP(packet io.Reader, values map[string]string) {
	d := xml.NewDecoder(packet)
	var in []bool // of each open element, whether it is wanted or within one that is
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
					keep(values, a.Name.Local, a.Value)
				} else if within && a.Name.Local == "resource" {
					keep(values, name, a.Value)
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
				keep(values, name, text.String())
			}
			in = in[:len(in)-1]
		}
	}
}
