// Package plans has a test that counts the rows which plans read: it runs each statement of
// db/queries and each inside db/functions on a database of a million pages.
package plans
