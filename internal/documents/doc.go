// Package documents turns PDF, Word, PowerPoint and Excel files into Markdown,
// so that a model reads them as text: headings, lists, tables, links, notes and
// the titles of slides.
//
// Documents come from anywhere. Every reader is bounded in what it unpacks,
// how deep it goes and how much it writes; a panic of a parser is an error of
// the document. [Child] runs the readers in a process of its own, whose memory
// and time are limited too: a hostile document costs that process at most.
package documents
