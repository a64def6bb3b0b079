package activities

import (
	"time"

	"github.com/mosey-web/mosey/crawl/politeness"
)

// closed is how long it is from an instant until all windows, as texts, are open at
// once.
func (a *Activities) closed(at time.Time, texts []string) (time.Duration, error) {
	all := make([]politeness.Windows, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = a.windowsOf(text); err != nil {
			return 0, err
		}
	}
	return politeness.WaitAll(at, all), nil
}

// windowsOf parses windows, each text once: that can read a time zone's file, and
// every page asks.
func (a *Activities) windowsOf(text string) (politeness.Windows, error) {
	known, _ := a.windows.Load(text)
	if w, ok := known.(politeness.Windows); ok {
		return w, nil
	}
	w, err := politeness.ParseWindows(text)
	if err == nil {
		a.windows.Store(text, w)
	}
	return w, err
}
