// Package settings declares each setting of a run once: as a field of [Settings] with its name,
// type, default, bounds and help. The defaults, the checks and their messages, the flags of mosey
// crawl, mosey set, settings files, the JSON of SeedWorkflow and docs/settings.md all come from
// these declarations.
//
// The package depends only on the standard library.
package settings
