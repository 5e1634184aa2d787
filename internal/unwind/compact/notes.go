package compact

import (
	"fmt"

	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/internal/stackwalk"
)

var _ stackwalk.Explainer = Source{}

// Notes tell the entry of a place and what its encoding says.
func (Source) Notes(q *stackwalk.Query) []string {
	t := compactunwind.Of(q.Image)
	e, ok := t.Find(q.PC)
	if !ok {
		return nil
	}
	digits := 2 * q.Arch.AddrSize
	lines := []string{fmt.Sprintf("entry 0x%0*x to 0x%0*x, encoding %#08x: %s", digits, e.Lo, digits, e.Hi, uint32(e.Encoding), kind(t, q, e.Encoding))}
	if n := e.Encoding.Personality(); n != 0 || e.Encoding.LSDA() {
		lines = append(lines, fmt.Sprintf("personality routine %d, data for exceptions: %t", n, e.Encoding.LSDA()))
	}
	if _, dwarf := t.FDE(e.Encoding); q.Exact && !dwarf && e.Encoding.Mode() != 0 {
		lines = append(lines, "the entry holds where the function calls others; of prologues and epilogues the code tells")
	}
	return lines
}

// kind names the mode of an encoding.
func kind(t *compactunwind.Table, q *stackwalk.Query, e compactunwind.Encoding) string {
	if off, ok := t.FDE(e); ok {
		return fmt.Sprintf("the FDE at %#x of __eh_frame", off)
	}
	switch q.Arch.Name {
	case "arm":
		if m := e.Mode(); m == armFrame || m == armFrameD {
			return "frame record at r7"
		}
	case "aarch64":
		switch e.Mode() {
		case arm64Frame:
			return "frame record at x29"
		case arm64Frameless:
			return fmt.Sprintf("no frame record, %d bytes of stack", e>>12&0xfff*16)
		}
	default:
		word := q.Arch.RegSize
		switch e.Mode() {
		case x86Frame:
			return fmt.Sprintf("frame pointer, registers saved from %d bytes below it on", int(e>>16&0xff)*word)
		case x86Immediate:
			return fmt.Sprintf("no frame pointer, %d bytes of stack, %d registers saved", int(e>>16&0xff)*word, e>>10&7)
		case x86Indirect:
			return fmt.Sprintf("no frame pointer, the size of the stack is the operand at %+d in the function, %d registers saved", e>>16&0xff, e>>10&7)
		}
	}
	if e.Mode() == 0 {
		return "nothing is known of the function"
	}
	return "unknown"
}
