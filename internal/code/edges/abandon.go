package edges

import (
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/unwind"
)

// Abandons implements unwind.CallGraph.
func (w *Graph) Abandons(q *unwind.Query) bool {
	if q.Arch.Decoder == nil || !q.HasEntry {
		return false
	}
	p := w.of(q.Image)
	at, ok := rules.PointOf(p.Code, q)
	return ok && p.Flows.Abandons(p.Flows.Function(disasm.Addr{PC: q.Entry, Mode: q.Mode}), at.Addr(), !at.Exact)
}
