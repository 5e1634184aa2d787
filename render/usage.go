package render

import (
	"fmt"
	"github.com/backsight/backsight/internal/typeset"
)

// usage writes what each frame takes of the stack, as the kernel's stack tracer does
// (Documentation/trace/ftrace.rst, stack_trace), in bytes:
//
//	    Depth    Size   Location          Function
//	0)    160      96   0x00401284        f+0x1c
//
// Where a frame's size is not known, "-" stands, and ≥ in front of the depths that lack the size.
func (t *threadText) usage() {
	th := t.th
	width := max(len("Location"), len("0x")+t.digits)
	t.b = fmt.Appendf(t.b, "        Depth    Size   %-*s  Function\n", width, "Location")
	for i, u := range th.StackUsage(t.r.Snapshot) {
		f, n := &th.Frames[i], th.Repeats.Number(i)
		if more := th.Repeats.LeftOut(i); more > 0 {
			t.b = fmt.Appendf(t.b, "     %d bytes of the frames up to %d, which repeat those above\n", more, n-1)
		}
		depth, size, place := "-", "-", ""
		if u.Known {
			depth, size = fmt.Sprint(u.Depth), fmt.Sprint(u.Size)
		}
		if u.AtLeast {
			depth = "≥" + depth
		}
		if f.HasAddress() {
			place = string(typeset.AppendHex(nil, f.PC, t.digits))
		}
		t.b = fmt.Appendf(t.b, "%3d) %8s%8s   %-*s  %s\n", n, depth, size, width, place, typeset.Text(typeset.FrameName(f)))
	}
}
