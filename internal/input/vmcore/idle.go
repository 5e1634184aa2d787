package vmcore

import (
	"bytes"
	"context"

	"github.com/backsight/backsight/target"
)

const (
	// maxFirst bounds the places that are tried for the name of the first idle task, maxIdle those for
	// the names of all others.
	maxFirst = 16
	maxIdle  = 4096
	// maxNamed bounds the names of idle tasks that are looked at: logs have them, too.
	maxNamed = 1 << 16
	// nearKernel is how far from the kernel's other data the first task lies.
	nearKernel = 128 << 20
)

// idleTasks are the virtual addresses at which the comm of idle tasks may lie. The first idle task is linked
// into the kernel, and moves with the rest of the kernel; its comm is "swapper/0", or "swapper" where the
// kernel is for one processor. The idle tasks of other processors lie in memory that the kernel allocated,
// which its linear mapping shows. All memory is searched for them once, since dumps hold memory compressed; the
// memory of a machine that runs is not searched.
func (d *dump) idleTasks(ctx context.Context, k identity, s space) (first, others []uint64) {
	const name = "swapper"
	near := target.Range{Lo: k.at - min(k.at, nearKernel), Hi: k.at + nearKernel}
	in := target.Range{Hi: ^uint64(0)}
	if d.shown != nil {
		in = near
	}
	var alone []uint64
	named := 0
	searchIn(ctx, d.physical, in, name, func(pa uint64) bool {
		va := (pa + k.offset) & d.arch.AddrMask()
		_, mapped := s.memory.PermAt(va)
		linked := mapped && near.Contains(pa)
		switch rest := bytesAt(d.physical, pa+uint64(len(name)), 3); {
		case linked && bytes.HasPrefix(rest, []byte("/0\x00")) && len(first) < maxFirst:
			first = append(first, va)
		case linked && bytes.HasPrefix(rest, []byte{0}) && len(alone) < maxFirst:
			alone = append(alone, va)
		case d.shown == nil && len(rest) == 3 && rest[0] == '/' && rest[1] >= '1' && rest[1] <= '9':
			others = append(others, s.virtual(pa)...)
		}
		named++
		return len(others) < maxIdle && named < maxNamed
	})
	return append(first, alone...), others
}
