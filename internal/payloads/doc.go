// Package payloads encrypts what Temporal stores of Mosey: inputs and results of workflows and
// activities, signals, memos, summaries, details and the texts of failures. It uses AES-256-GCM, in
// the format of Temporal's samples. What is not encrypted is read as it is, so that encryption can
// be turned on while a crawl runs.
package payloads
