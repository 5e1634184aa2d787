package typeset

import (
	"strings"

	"github.com/backsight/backsight/unwind"
)

// What the marks of doubt mean.
const (
	meansCertain  = "given that memory holds what the program wrote there, no other frame can stand here"
	MeansLikely   = "nothing speaks against the frame, but what would prove it is missing"
	MeansGuess    = "a guess: other frames may stand here as well"
	meansTailCall = "the next frame called this function, which ended in a jump to the function above: it has no frame"
	meansSeveral  = "a guess: several callers fit what was captured, this is one of them"
)

// term is a mark of a backtrace, and what that means.
type term struct{ mark, means string }

// section is a list of marks of one kind.
type section struct {
	title string
	marks []term
}

// marks are all marks that a backtrace may have.
func marks() []section {
	sure := section{"How sure a frame is", []term{
		{"no mark", "certain: " + meansCertain},
		{"likely", MeansLikely},
		{"?", MeansGuess},
		{"one of several", meansSeveral},
		{"(tail call)", meansTailCall},
	}}
	found := section{title: "How a frame was found, where it is not certain or has no name: [code], [scan?]"}
	for _, m := range unwind.Methods() {
		found.marks = append(found.marks, term{m.String(), m.Means()})
	}
	stops := section{title: "Why a backtrace ends: stop: root"}
	for _, r := range unwind.StopReasons() {
		stops.marks = append(stops.marks, term{r.String(), r.Means()})
	}
	checks := section{title: "What speaks for a frame and against (JSON's checks)"}
	const all = ^unwind.Checks(0)
	means := all.Means()
	for i, name := range all.Names() {
		checks.marks = append(checks.marks, term{name, means[i]})
	}
	return []section{sure, found, stops, checks}
}

// AppendMarks appends what the marks of a backtrace mean, for a page or a terminal of so many columns.
func AppendMarks(dst []byte, width int) []byte {
	for i, s := range marks() {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(append(dst, s.title...), ":\n"...)
		for _, m := range s.marks {
			const column = 18
			dst = append(append(dst, "  "...), m.mark...)
			dst = append(dst, strings.Repeat(" ", max(1, column-2-len(m.mark)))...)
			dst = AppendWrapped(dst, m.means, column, width)
		}
	}
	return dst
}

// AppendWrapped appends words as lines: the first begins at a column, the others are indented to it.
func AppendWrapped(dst []byte, words string, column, width int) []byte {
	at := column
	for i, w := range strings.Fields(words) {
		switch {
		case i > 0 && at+1+len(w) > width:
			dst = append(append(dst, '\n'), strings.Repeat(" ", column)...)
			at = column
		case i > 0:
			dst = append(dst, ' ')
			at++
		}
		dst = append(dst, w...)
		at += len(w)
	}
	return append(dst, '\n')
}
