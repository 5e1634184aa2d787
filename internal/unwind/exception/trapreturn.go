package exception

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// returnsFromTrap tells whether all ways from pc to a return are returns from a trap. A way
// that makes room on the stack has come to another function, behind a call that never returns.
func returnsFromTrap(img *image.Image, pc uint64) bool {
	open, seen, some := []uint64{pc}, make(map[uint64]bool), false
	var in [1]cpu.Insn
	for steps := 0; len(open) > 0 && steps < maxSteps; steps++ {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[at] || img.Arch.Decoder.Decode(img.Segments.Code(at), at, 0, in[:]) == 0 {
			continue
		}
		seen[at] = true
		i := &in[0]
		if i.Op == cpu.OpAddImm && i.Dst == img.Arch.SP && i.Imm < 0 {
			return false
		}
		if i.Op == cpu.OpReturn {
			if i.Flags&cpu.FlagException == 0 {
				return false
			}
			some = true
		}
		if conditional := i.Flags&cpu.FlagConditional != 0; i.Op == cpu.OpJump && (conditional || i.Src == cpu.NoReg) && len(open) < maxOpen {
			open = append(open, i.Target)
		}
		if !i.Ends(img.Arch.PC) {
			open = append(open, at+uint64(i.Len))
		}
	}
	return some
}
