// Package plans has a test that counts the rows which plans read: it runs each statement of
// db/queries and each inside db/functions on a database of a million pages.
//
// Rows that are only counted, sorted away or compared in vain are read but not needed: see
// needs. The historical fault was a count of attempts that a plan took along the wrong index,
// reading more with every page that was stored.
package plans
