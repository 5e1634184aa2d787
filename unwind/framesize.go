package unwind

import "github.com/backsight/backsight/target"

// FrameSizes tells how many bytes lie between SP and CFA in those frames whose CFA is not known, by their indices, as far
// as code or tables alone tell. Of a chain that a kernel lists no stack may be printed, but on arm64 vfs_write keeps
// 160 bytes there wherever the function is called. The cost of code
// analysis is bounded.
func FrameSizes(snap *target.Snapshot, sources []Source, frames []Frame) map[int]uint64 {
	sizes, asked := make(map[int]uint64), make(map[place]int) // the first frame at a place
	z := sizing{snap: snap, sources: sources, left: maxSizingCost}
	for i := range frames {
		f := &frames[i]
		if f.HasCFA || f.Module == nil {
			continue
		}
		at := placeOf(f.PC, f.Mode, f.Exact)
		first, again := asked[at]
		if !again {
			first, asked[at] = i, i
			if size, ok := z.of(f); ok {
				sizes[i] = size
			}
		}
		if size, ok := sizes[first]; ok {
			sizes[i] = size
		}
	}
	return sizes
}

// maxSizingCost bounds what the sizes of a backtrace's frames may cost, in instructions that code analysis executes: a
// kernel's function takes some hundred.
const maxSizingCost = 1 << 20

// sizing finds the sizes of frames. left is what that may still cost.
type sizing struct {
	snap    *target.Snapshot
	sources []Source
	left    uint64
}

// of is the size of a frame as the first source tells it whose rule finds the CFA by SP.
func (z *sizing) of(f *Frame) (size uint64, ok bool) {
	q, covered := queryOf(&State{Snapshot: z.snap, PC: f.PC, Mode: f.Mode, Exact: f.Exact, Module: f.Module})
	for _, src := range z.sources {
		rules, isRule := src.(RuleSource)
		if !covered || !isRule || z.left == 0 {
			continue
		}
		var rule Rule
		q.Cost = 0
		verdict := rules.Rule(&q, &rule)
		z.left -= min(q.Cost, z.left)
		cfa := &rule.CFA
		if verdict == Found && rule.Flags&(Fallback|Inferred) == 0 && cfa.Kind == RegPlus && cfa.Base == q.Arch.SP && cfa.Off >= 0 {
			return uint64(cfa.Off), true
		}
	}
	return 0, false
}
