package settings

// Only limits the part of a run that is requested again.
type Only string

// The parts of a run; empty means both.
const (
	OnlyPages  Only = "pages"
	OnlyImages Only = "images"
)

// Onlys lists every Only.
var Onlys = []Only{OnlyPages, OnlyImages}

// Refresh returns the settings of a run that requests again the pages of a run with settings s, all
// set. They equal s, but the new run follows no links and has no limits. It accepts pages that were
// fetched just before, and ends when it has requested all. It takes no images if only pages are
// wanted. Fields set in own win.
func (s Settings) Refresh(only Only, own Settings) Settings {
	zero, span, end, off := 0, Duration(0), WhenDoneEnd, ImagesOff
	changed := Settings{MaxDepth: &zero, MinRefetch: &span, WhenDone: &end}
	if only == OnlyPages {
		changed.Images = &off
	}
	for _, d := range table {
		field := d.of(&own)
		switch {
		case !field.IsNil():
		case !d.of(&changed).IsNil():
			field.Set(d.of(&changed))
		case d.Group != "limits":
			field.Set(d.of(&s))
		}
	}
	return own.WithDefaults()
}
