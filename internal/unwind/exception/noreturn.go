package exception

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// stopsHere tells whether a call in a trap entry leads nowhere: the handler of faults prints a
// report and stops the machine. What stands behind the call then is another way's.
//
//	csrr t0,mcause
//	bltz t0,1f        interrupts
//	…
//	call fatal
//	1: mv t0,sp
func (x *explorer) stopsHere(in *cpu.Insn) bool {
	img := x.module.Image
	if in.Op != cpu.OpCall || in.Target == 0 || isBanked(img.Arch) {
		return false
	}
	type key struct{ callee uint64 }
	return img.Memo(key{in.Target}, func() any {
		r := returning{img: img, known: make(map[uint64]bool)}
		return !r.returns(in.Target)
	}).(bool)
}

// returning finds out which functions return. known is what was found out; a function that is
// looked into returns until then.
type returning struct {
	img   *image.Image
	known map[uint64]bool
	steps int
}

// maxReturning bounds the instructions that are looked at: reports of faults are long.
const maxReturning = 1 << 14

// returns tells whether a way leads from a function's begin to a return, through calls that
// return themselves. Where the steps are spent, or a jump's target is not known, it does.
func (r *returning) returns(entry uint64) bool {
	if does, ok := r.known[entry]; ok {
		return does
	}
	r.known[entry] = true
	open, seen := []uint64{entry}, make(map[uint64]bool)
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		var in [2]cpu.Insn
		i := &in[0]
		decoded := r.img.Arch.Decoder.Decode(r.img.Segments.Code(at), at, 0, in[:]) > 0
		indirect := i.Op == cpu.OpJump && i.Target == 0
		if r.steps++; r.steps > maxReturning || !decoded || indirect || i.Op == cpu.OpReturn {
			return true
		}
		if i.Op == cpu.OpCall && i.Target != 0 && !r.returns(i.Target) {
			continue
		}
		if i.Op == cpu.OpJump {
			open = append(open, i.Target)
		}
		if !i.Ends(r.img.Arch.PC) {
			open = append(open, at+uint64(i.Len))
		}
	}
	r.known[entry] = false
	return false
}
