package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// advice writes what the capture lacks, a line each, and how its writer is told.
func (t *text) advice(a *report.Advice) {
	t.b = fmt.Appendf(t.b, "\nAdvice: %d of %d threads are whole.\n", a.Whole, a.Threads)
	for i := range a.Lacks {
		l := &a.Lacks[i]
		t.line("    " + lackText(l, t.digits) + threadsText(l))
	}
	for i, s := range a.Settings {
		if i == 0 {
			t.line("  How the capture is made to have it:")
		}
		t.line("    " + s)
	}
}

// lackText says what is lacking, without whose it is.
func lackText(l *report.Lack, digits int) string {
	from := string(typeset.AppendHex(nil, l.Range.Lo, digits))
	switch l.Kind {
	case report.LackStack:
		s := fmt.Sprintf("stack from %s on: %d bytes from the stack pointer on were captured, with %d frames", from, l.Captured, l.Frames)
		if n, ok := lackBytes(l); ok {
			return s + fmt.Sprintf("; %d bytes more are all of it", n)
		}
		return s + "; how far it goes the capture does not say"
	case report.LackMemory:
		return fmt.Sprintf("memory at %s, %d bytes at least", from, l.Range.Hi-l.Range.Lo)
	case report.LackBinary:
		return binaryText(l, from)
	case report.LackDebugFile:
		return fmt.Sprintf("debug file or unwind tables of %s: its code alone does not tell how to go on", buildText(l.Module))
	case report.LackRegisters:
		return "registers: " + strings.Join(l.Registers, ", ")
	case report.LackFrames:
		return "nothing: the chain is longer than --max-frames"
	}
	return "nothing that a larger capture would have: the stack is not as the program left it, or the walk too long"
}

func binaryText(l *report.Lack, from string) string {
	if l.Module == nil {
		return fmt.Sprintf("binary or memory with the code at %s: none is known to be mapped there", from)
	}
	s := "binary " + buildText(l.Module)
	if n, ok := lackBytes(l); ok {
		s += fmt.Sprintf(", %d bytes mapped at %s", n, from)
	}
	return s + fmt.Sprintf(", with %d frames", l.Frames)
}

// buildText is a binary's name and what it is found by.
func buildText(m *target.Module) string {
	name := typeset.OrUnknown(m.Name)
	if id := moduleID(m); id != "" {
		return name + ", build " + id
	}
	return name + ", of unknown build"
}

// lackBytes is how many bytes are lacking, if that is known.
func lackBytes(l *report.Lack) (n uint64, ok bool) {
	if l.Range.Hi <= l.Range.Lo || l.Module != nil && l.Module.Stated != target.StatedPlace {
		return 0, false
	}
	return l.Range.Hi - l.Range.Lo, true
}

// threadsText names the first threads that lack something.
func threadsText(l *report.Lack) string {
	const named = 8
	ids := make([]string, 0, named)
	for _, id := range l.Threads[:min(len(l.Threads), named)] {
		ids = append(ids, strconv.Itoa(id))
	}
	s := " (thread " + strings.Join(ids, ", ")
	if more := len(l.Threads) - len(ids); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s + ")"
}

// advice writes what the capture lacks.
func (e *reportEncoder) advice(a *report.Advice) {
	e.key("advice")
	e.open('{')
	e.key("threads")
	e.int(a.Threads)
	e.key("whole")
	e.int(a.Whole)
	e.key("lacks")
	e.open('[')
	for i := range a.Lacks {
		e.lack(&a.Lacks[i])
	}
	e.close(']')
	e.strings("settings", a.Settings)
	e.close('}')
}

func (e *reportEncoder) lack(l *report.Lack) {
	e.open('{')
	e.member("kind", string(l.Kind))
	e.key("threads")
	e.open('[')
	for _, id := range l.Threads {
		e.int(id)
	}
	e.close(']')
	n, known := lackBytes(l)
	e.key("address")
	e.addressIf(l.Range.Lo != 0 && (l.Module == nil || known), l.Range.Lo)
	e.key("bytes")
	if known {
		e.b = strconv.AppendUint(e.b, n, 10)
	} else {
		e.null()
	}
	if l.Kind == report.LackStack {
		e.key("captured")
		e.b = strconv.AppendUint(e.b, l.Captured, 10)
	}
	if l.Module != nil {
		e.member("module", l.Module.Name)
		e.member("code_id", moduleID(l.Module))
	}
	if l.Frames > 0 {
		e.key("frames")
		e.int(l.Frames)
	}
	if l.Registers != nil {
		e.strings("registers", l.Registers)
	}
	e.close('}')
}
