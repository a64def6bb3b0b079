package settings

// RefreshKind limits the part of a run that is requested again.
type RefreshKind string

// The parts of a run; empty means both.
const (
	RefreshPages  RefreshKind = "pages"
	RefreshImages RefreshKind = "images"
)

// RefreshKinds lists every RefreshKind.
var RefreshKinds = []RefreshKind{RefreshPages, RefreshImages}

// Refresh returns the settings of a run that requests again the pages of a run with settings s, all
// set. They equal s, but the new run follows no links and has no limits. It accepts pages that were
// fetched just before, and ends when it has requested all. It takes no images if only pages are
// wanted. Fields set in changes take precedence.
func (s Settings) Refresh(kind RefreshKind, changes Settings) Settings {
	changed := Settings{MaxDepth: new(0), MinRefetch: new(Duration(0)), WhenDone: new(WhenDoneEnd)}
	if kind == RefreshPages {
		changed.Images = new(ImagesOff)
	}
	for _, d := range table {
		field := d.fieldIn(&changes)
		switch {
		case !field.IsNil():
		case !d.fieldIn(&changed).IsNil():
			field.Set(d.fieldIn(&changed))
		case d.Group != "limits":
			field.Set(d.fieldIn(&s))
		}
	}
	return changes.WithDefaults()
}
