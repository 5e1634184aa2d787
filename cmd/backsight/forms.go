package main

import (
	"io"
	"strings"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
)

// form is a form of backtraces.
type form struct {
	name string
	says string // what help says of it, if anything
	// one appends a report. Where it is nil, counts has the stacks of all reports.
	one    func(dst []byte, r *report.Report, style render.Style) []byte
	counts func(s *render.Stacks, w io.Writer, title string) error
	binary bool // not for a terminal
	// head and tail, if set, stand around all reports; between is what stands between two.
	head    func(title string) []byte
	tail    func() []byte
	between string
}

// plainForms are those for people and programs of this machine.
func plainForms() []form {
	return []form{
		{name: "text", one: render.AppendText, between: "\n"},
		{name: "json", says: "several snapshots are an array", one: render.AppendJSON},
		{name: "jsonl", says: "one line each", one: render.AppendJSONLine},
	}
}

// formNames are the values of --format.
func formNames() (names []string) {
	for _, f := range forms() {
		names = append(names, f.name)
	}
	return names
}

// formHelp is what help says of --format.
func formHelp() string {
	var texts []string
	for _, f := range forms() {
		text := f.name
		if f.says != "" {
			text += " (" + f.says + ")"
		}
		texts = append(texts, text)
	}
	return "`FORMAT`: " + strings.Join(texts, ", ")
}
