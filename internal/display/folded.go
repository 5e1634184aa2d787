package display

import (
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// WriteFolded writes the stacks in the form that flamegraph.pl, speedscope and inferno read,
// one a line: program;outermost;…;innermost count. Where they are of several events, the event's name is in front.
func (s *Stacks) WriteFolded(w io.Writer) (err error) {
	var line []byte
	several := len(s.events()) > 1
	for stack, count := range s.byText().stacks() {
		line = line[:0]
		for _, name := range s.outermost(stack[0], several) {
			line = append(append(line, name...), ';')
		}
		for _, n := range stack[1:] {
			line = append(append(line, s.texts.list[s.frames[n-1].text]...), ';')
		}
		line = append(strconv.AppendInt(append(line[:len(line)-1], ' '), int64(count), 10), '\n')
		if _, err = w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// appendPlaces appends what stacks have of a frame, and returns the names together.
func appendPlaces(dst []stackPlace, f *report.Frame, addr uint64, module *stackModule) (places []stackPlace, text string) {
	names := []string{foldedName(functionName(f))}
	dst = append(dst, stackPlace{names[0], f.File, f.Line, addr, module})
	for _, in := range slices.Backward(f.Inlines) {
		name := foldedName(typeset.OrUnknown(in.Function))
		dst, names = append(dst, stackPlace{name, in.File, in.Line, addr, module}), append(names, name)
	}
	return dst, strings.Join(names, ";")
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
