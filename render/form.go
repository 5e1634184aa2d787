package render

import (
	"bytes"
	"io"
	"slices"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// Form is a form in which reports are written one after the other.
type Form struct {
	// Append appends a report. Write writes the same while the text is made: that of a stack overflow's frames need not fit into
	// memory. It is nil where nobody needs that.
	Append func(dst []byte, r *report.Report, style Style) []byte
	Write  func(w io.Writer, r *report.Report, style Style) error
	// Head and Tail, if set, stand around all reports, Between stands between two.
	Head    func(title string) []byte
	Tail    func() []byte
	Between string
	// Lone: a report that is alone has neither head nor tail.
	Lone bool
}

// TextForm is text for people.
func TextForm() Form { return Form{Append: AppendText, Write: writeText, Between: "\n"} }

// JSONForm is one object, or an array of several.
func JSONForm() Form {
	return Form{
		Append:  AppendJSON,
		Write:   func(w io.Writer, r *report.Report, style Style) error { return writeJSON(w, r, style, true) },
		Head:    func(string) []byte { return []byte("[\n") },
		Tail:    func() []byte { return []byte("]\n") },
		Between: ",\n",
		Lone:    true,
	}
}

// JSONLinesForm is an object a line.
func JSONLinesForm() Form {
	return Form{
		Append: AppendJSONLine,
		Write:  func(w io.Writer, r *report.Report, style Style) error { return writeJSON(w, r, style, false) },
	}
}

// PageForm is one web page.
func PageForm() Form {
	return Form{
		Append: AppendPage,
		Write:  writePage,
		Head:   func(title string) []byte { return typeset.AppendPageHead(nil, title) },
		Tail:   func() []byte { return typeset.AppendPageTail(nil) },
	}
}

// Join is the whole of reports that Append has made, in their order; title is that of a page.
func (f *Form) Join(title string, reports [][]byte) []byte {
	whole := bytes.Join(reports, []byte(f.Between))
	if f.Head == nil || f.Lone && len(reports) == 1 {
		return whole
	}
	return slices.Concat(f.Head(title), whole, f.Tail())
}
