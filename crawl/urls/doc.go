// Package urls canonicalises URLs of operators and pages, and finds their domain, the unit of
// politeness. Two URLs are the same page to Mosey if and only if their canonical forms are equal.
package urls
