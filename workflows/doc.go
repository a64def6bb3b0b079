// Package workflows decides when: SeedWorkflow takes seeds in, CrawlWorkflow keeps a run's
// domains going, DomainWorkflow makes one domain's requests one after the other and sleeps
// in between, durably.
//
// The workflows hold no work, which is in Postgres; a workflow carries a few numbers and can
// be lost without losing a page. A signal only wakes.
//
// Names of workflows, signals, updates and queries, and the JSON of their inputs,
// are an on-disk format: see testdata/names.golden.
package workflows
