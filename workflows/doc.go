// Package workflows schedules the crawl: SeedWorkflow stores seeds, CrawlWorkflow dispatches a
// run's domains, DomainWorkflow makes one domain's requests one after the other and sleeps in
// between, durably.
//
// The work is stored in Postgres, not in the workflows; a workflow carries a few numbers and can be
// lost without losing a page. A signal only wakes.
//
// Names of workflows, signals, updates and queries, and the JSON of their inputs, are an on-disk
// format: see testdata/names.golden.
package workflows
