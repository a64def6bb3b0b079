package settings

// Only is what of a run is asked for again, where that is not all of it.
type Only string

// What can be asked for again alone; empty is both.
const (
	OnlyPages  Only = "pages"
	OnlyImages Only = "images"
)

// Onlys are all of them.
var Onlys = []Only{OnlyPages, OnlyImages}

// Refresh returns the settings of a run that asks again for pages of a run with settings s, all of
// which are set. They are those of s, with these exceptions. The new run follows no links and has
// no limits. It takes pages that were fetched just before, and ends when it has asked for all.
// Where only pages are wanted it takes no images. What own sets wins.
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
