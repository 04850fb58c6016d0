// Package research plays a whole research run through the real binary: a search,
// pages that are there and pages that are not, a command, files, an uploaded
// document and a report with citations; through the API and the command line,
// and with the process killed in the middle of a long command. The web is a
// server of the test.
package research
