package main

import (
	"io"
	"strings"

	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/render"
)

// form is a form of backtraces.
type form struct {
	name string
	says string // what help says of it, if anything
	// Form writes each report. Where Append is nil, counts has the stacks of all reports.
	render.Form
	counts func(s *display.Stacks, w io.Writer, title string) error
	binary bool // not for a terminal
}

// plainForms are those for people and programs of this machine.
func plainForms() []form {
	return []form{
		{name: "text", Form: render.TextForm()},
		{name: "json", says: "several snapshots are an array", Form: render.JSONForm()},
		{name: "jsonl", says: "one line each", Form: render.JSONLinesForm()},
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
