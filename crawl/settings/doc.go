// Package settings declares the settings of a run, each of them once: a field of
// [Settings] with its name, type, default, bounds and help. The defaults, the checks and
// their messages, the flags of mosey crawl, mosey set, settings files, the JSON of
// SeedWorkflow and docs/settings.md all come from these declarations.
//
// It knows only the standard library.
package settings
