package extract

import "golang.org/x/net/html/atom"

// separates reports whether an element's tags stand between two words, as in what a
// browser copies: blocks, line breaks, cells, what is replaced, such as images, and form
// controls. All others are inline, also those that nobody knows: "CO<sub>2</sub>" is one word.
func separates(tag atom.Atom, name string) bool {
	switch tag {
	case 0:
		return name == "text" // a label in a drawing
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Colgroup, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header, atom.Hgroup,
		atom.Html, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Marquee, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup,
		atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td,
		atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul, atom.Xmp:
		return true // blocks and cells
	case atom.Br, atom.Hr, atom.Rp, atom.Rt, atom.Rtc:
		return true
	case atom.Applet, atom.Audio, atom.Canvas, atom.Embed, atom.Frame, atom.Iframe, atom.Image, atom.Img, atom.Object, atom.Svg, atom.Video:
		return true // replaced
	case atom.Button, atom.Input, atom.Isindex, atom.Keygen, atom.Meter, atom.Progress, atom.Select, atom.Textarea:
		return true // controls
	default:
		return false
	}
}
