package discover

import "github.com/backsight/backsight/cpu"

// addition is an instruction that ends in the address of a place if its register held before. from is not 0
// where the register got another constant in the run of instructions up to the addition: there, and at is the
// addition's own address.
//
//	adrp x0, kth_fn; add x0, x0, :lo12:kth_fn        kth_fn lies in one page with mid_b,
//	adrp x1, text;   add x1, x1, :lo12:text          and text where mid_b does in another page
type addition struct {
	before   uint64
	from, at uint64
}

// run follows constants through instructions that run one behind the other, in a function that is looked at
// from its beginning to its end.
type run struct {
	function extent
	mask     uint64     // of addresses
	set      cpu.RegSet // registers with a constant
	consts   [cpu.MaxRegs]constantAt
	targets  []uint64 // of the function's branches
	tables   bool     // some jump leads nobody knows where
}

// constantAt is a constant, and the address of the instruction that sets a register to that.
type constantAt struct{ value, at uint64 }

func (r *run) begin(f extent, mask uint64) {
	r.function, r.mask, r.set, r.targets, r.tables = f, mask, 0, r.targets[:0], false
}

// step goes on behind an instruction.
func (r *run) step(pc uint64, in *cpu.Insn) {
	switch in.Op {
	case cpu.OpNop:
	case cpu.OpStore, cpu.OpLoad, cpu.OpMove, cpu.OpAddImm, cpu.OpOrImm, cpu.OpAndImm, cpu.OpClobber:
		r.set &^= in.List
		for _, reg := range [...]cpu.Reg{in.Dst, in.Dst2, in.Base} { // a load or store may move its base
			r.set = r.set.Without(reg)
		}
	case cpu.OpConst:
		if r.set = r.set.Without(in.Dst); in.Dst < cpu.MaxRegs && in.Flags&cpu.FlagConditional == 0 {
			r.set, r.consts[in.Dst] = r.set.With(in.Dst), constantAt{uint64(in.Imm) & r.mask, pc}
		}
	case cpu.OpJump:
		if in.Target == 0 {
			r.tables = true
		} else if in.Target >= r.function.entry.PC && in.Target < r.function.end {
			r.targets = append(r.targets, in.Target)
		}
		if in.Flags&cpu.FlagConditional == 0 {
			r.set = 0
		}
	default:
		r.set = 0
	}
}

// addition is the one at pc, to a register that must hold before.
func (r *run) addition(pc uint64, reg cpu.Reg, before uint64) addition {
	if r.set.Has(reg) && r.consts[reg].value != before {
		return addition{before, r.consts[reg].at, pc}
	}
	return addition{before: before}
}

// decides tells whether the register of an addition holds another constant for sure: no branch comes in between.
func (r *run) decides(a *addition) bool {
	if a.from == 0 || r.tables {
		return false
	}
	for _, to := range r.targets {
		if to > a.from && to <= a.at {
			return false
		}
	}
	return true
}
