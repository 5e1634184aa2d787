package signature

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/report"
)

const (
	// titled is how many functions a title has.
	titled = 3
	// firstPage bounds what is told as NULL and a number: no system maps anything there.
	firstPage = 1 << 16
)

// title says for people what happened, and where.
func (s *signer) title(frames []report.SignedFrame) string {
	var b strings.Builder
	b.WriteString(s.happened())
	if c := s.crash(); c != nil {
		b.WriteString(access(c))
	}
	b.WriteString(Place(frames))
	return b.String()
}

// Place is how a title names where a crash was: " in pack ← on_route ← word", "" for no functions.
func Place(frames []report.SignedFrame) string {
	var b strings.Builder
	for i := range frames[:min(len(frames), titled)] {
		b.WriteString([]string{" in ", " ← "}[min(i, 1)])
		b.WriteString(name(&frames[i]))
	}
	return b.String()
}

// access says what the program did that it could not.
func access(c *report.Crash) string {
	verb, ok := map[string]string{"read": " reading ", "write": " writing ", "execute": " executing "}[c.Access]
	switch {
	case c.Kind == report.CrashNullPointer && ok && c.HasAddress && c.Address != 0 && c.Address < firstPage:
		return fmt.Sprintf("%sNULL+%#x", verb, c.Address)
	case c.Kind == report.CrashNullPointer && ok:
		return verb + "NULL"
	case c.Kind != "" && c.Kind != report.CrashAbort:
		return " (" + c.Kind + ")"
	}
	return ""
}

// name is what people call a function.
func name(f *report.SignedFrame) string {
	switch {
	case f.Import != "":
		return f.Import
	case f.Function != "":
		return f.Function
	}
	return fmt.Sprintf("%s+%#x", f.Module, f.Start)
}
