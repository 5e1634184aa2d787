package dataflow

import (
	"math"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
)

// LowestEscaping is the lowest place on a function's own stack whose address escapes, in bytes from SP on entry:
// the lowest object that other functions may change begins there. math.MaxInt64: no address escapes.
func LowestEscaping(f *Function) int64 {
	e := escapes{fn: f, lowest: math.MaxInt64}
	for _, b := range f.blocks {
		b.in.Decode(&e.st)
		straight(f, b, e.execute)
	}
	return e.lowest
}

// escapes looks for addresses of a function's stack that escape: that other functions may see.
type escapes struct {
	fn     *Function
	lowest int64
	st     absint.State
}

// execute executes an instruction. An address on the stack is noted if the instruction stores it, or
// leaves it in a register that callees may read. In a preserved register, such as the frame pointer, an
// address is not seen by others until it is moved or stored.
func (e *escapes) execute(in *cpu.Insn, pc uint64) {
	arch := e.fn.an.Arch
	switch in.Op {
	case cpu.OpStore:
		e.note(in.Src)
		e.note(in.Src2)
	case cpu.OpStoreMulti:
		for set := in.List; set != 0; set = set.Without(set.First()) {
			e.note(set.First())
		}
	}
	e.fn.interp.Exec(&e.st, in, pc)
	if in.Dst < cpu.MaxRegs && !arch.Preserved.Has(in.Dst) {
		e.note(in.Dst)
	}
}

// note notes the address that a register holds.
func (e *escapes) note(r cpu.Reg) {
	sp := e.fn.an.Arch.SP
	if v := e.st.Get(r); r != sp && v.RelativeTo(sp) {
		e.lowest = min(e.lowest, v.Off)
	}
}
