// Package explain describes stored rows in sentences for the command line and the web page: why a
// page, domain or run is requested or waits, and when it resumes.
package explain
