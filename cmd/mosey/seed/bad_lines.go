package seed

// BadLines are lines that could not be read: the first few, and how many in all.
type BadLines struct {
	Shown []string
	All   int
}

// Add counts a line.
func (b *BadLines) Add(line string) {
	if b.All++; b.All <= badLinesShown {
		b.Shown = append(b.Shown, line)
	}
}
