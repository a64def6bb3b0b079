// Package urls canonicalises what people and pages write for a URL, and says
// which domain, the unit of politeness, a URL belongs to. Two URLs are the same
// page to Mosey if and only if their canonical forms are equal.
package urls
