package display

import (
	"encoding/hex"
	"io"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// WriteFolded writes the stacks in the form that flamegraph.pl, speedscope and inferno read,
// one a line: program;outermost;…;innermost count.
func (s *Stacks) WriteFolded(w io.Writer) (err error) {
	var line []byte
	for k := range s.list {
		st := &s.list[k]
		if line = line[:0]; st.program != "" {
			line = append(append(line, st.program...), ';')
		}
		for i, f := range s.of(st) {
			if i > 0 {
				line = append(line, ';')
			}
			line = append(line, f.text...)
		}
		line = append(strconv.AppendInt(append(line, ' '), int64(st.count), 10), '\n')
		if _, err = w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// newStackFrame makes what stacks have of a frame.
func newStackFrame(f *report.Frame, addr uint64, module *stackModule) stackFrame {
	out := stackFrame{places: []stackPlace{{foldedName(functionName(f)), f.File, f.Line, addr, module}}}
	for k := len(f.Inlines) - 1; k >= 0; k-- {
		in := &f.Inlines[k]
		out.places = append(out.places, stackPlace{foldedName(typeset.OrUnknown(in.Function)), in.File, in.Line, addr, module})
	}
	names := make([]string, len(out.places))
	for i := range out.places {
		names[i] = out.places[i].name
	}
	out.text = strings.Join(names, ";")
	return out
}

// functionName is a frame's function without the offset, so that stacks which differ in offsets
// only count as equal. It is module and offset where the function has no name.
func functionName(f *report.Frame) string {
	name := f.Function
	if name == "" {
		name = typeset.FrameName(f)
	}
	if guessed(f.Frame) {
		name += "?"
	}
	return name
}

// guessed tells whether a frame is a guess, and the only one.
func guessed(f *unwind.Frame) bool { return f.Trust == unwind.Guess && f.Checks&unwind.SeveralFit == 0 }

// foldedName is a name without the characters that separate names in folded stacks.
func foldedName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(typeset.Text(name), ";", ":"), "\n", " ")
}

func moduleOf(m *target.Module) stackModule {
	if m == nil {
		return stackModule{}
	}
	id := m.BuildID
	if m.Image != nil {
		id = m.Image.BuildID
	}
	return stackModule{m.Name, hex.EncodeToString(id), m.Lo, m.Hi}
}
