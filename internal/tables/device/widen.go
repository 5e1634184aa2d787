package device

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/tables"
)

// A rule says one place of a value where there are two: a prologue has saved the register and
// not yet changed it, an epilogue has reloaded it and the slot still stands.
//
//	addi sp, sp, -16     CFA = sp+16, RA = ra
//	sw   ra, 12(sp)      …             RA = ra
//	mv   s1, a0          …             RA = ra, and in the slot
//	jal  f               …             RA in the slot
//	lw   ra, 12(sp)      …             RA in the slot
//	mv   a0, s1          …             RA = ra, and in the slot
//	addi sp, sp, 16
//
// With both places known, the rows of a function are one or two less.
//
// From a row that has the slot, code is read in both directions, as long as one instruction
// follows the other: backwards to the store, for what the slot holds was there before whatever
// does not store; forwards to a store, or to where another path comes in. A register is followed forwards
// from a row that has it: RISC-V's prologues save ra first and call last, and in between ra still is the
// return address.

// widener finds second places.
type widener struct {
	img      *framer
	code     func(uint64) []byte
	dec      cpu.Decoder
	targets  []uint64 // of jumps anywhere in the program, sorted
	insns    []place  // of the function at hand
	indirect bool     // it jumps to where its code does not tell
}

// place is an instruction, its address, and the address behind its delay slot, if there is one.
type place struct {
	at, next uint64
	cpu.Insn
}

func (p *place) end() uint64 { return p.at + uint64(p.Len) }

func newWidener(p *tables.Program, f *framer) *widener {
	w := &widener{img: f, code: p.Image.Segments.Code, dec: p.Image.Arch.Decoder}
	for i := range p.Functions {
		w.read(&p.Functions[i])
		for k := range w.insns {
			if in := &w.insns[k]; in.Op == cpu.OpJump && in.Target != 0 {
				w.targets = append(w.targets, in.Target)
			}
		}
	}
	slices.Sort(w.targets)
	w.targets = slices.Compact(w.targets)
	return w
}

// read decodes a function.
func (w *widener) read(f *tables.Function) {
	w.insns, w.indirect = w.insns[:0], false
	code := w.code(f.Start)
	code = code[:min(uint64(len(code)), f.End-f.Start)]
	var buf [64]cpu.Insn
	for at := f.Start; len(code) > 0; {
		n := w.dec.Decode(code, at, f.Mode, buf[:])
		if n == 0 {
			return
		}
		for i := range n {
			step := stepping.StepOf(buf[i:n], at)
			if step.Cut && i > 0 {
				break // decoded again, with the delay slot
			}
			in := step.In
			w.insns = append(w.insns, place{at, step.Next, *in})
			w.indirect = w.indirect || in.Op == cpu.OpJump && in.Target == 0 && in.Flags&cpu.FlagReturn == 0 ||
				in.Op == cpu.OpLoad && in.Dst == w.img.arch.PC && in.Flags&cpu.FlagReturn == 0
			at += uint64(in.Len)
			code = code[min(len(code), int(in.Len)):]
		}
	}
}

// widen returns the rows of a function with all places of their values.
func (w *widener) widen(f *tables.Function, rows []row) []row {
	if len(rows) < 2 {
		return rows
	}
	w.read(f)
	rows = slices.Clone(rows)
	for i := len(rows) - 1; i > 0; i-- {
		for v := range 1 + len(w.img.tracked) {
			rows = w.back(rows, i, v)
		}
	}
	for i := 1; i < len(rows); i++ {
		for v := range 1 + len(w.img.tracked) {
			rows = w.stays(w.on(rows, i, v), i, v)
		}
	}
	return rows
}

// of is the value with a number: 0 the return address, then the tracked registers.
func (f *frame) of(v int) *value {
	if v == 0 {
		return &f.ra
	}
	return &f.saved[v-1]
}

// back notes the slot of a value that row i has in the row before, from behind the store on.
func (w *widener) back(rows []row, i, v int) []row {
	a, b := &rows[i-1], &rows[i]
	slot := b.frame.of(v).slot
	if !a.frame.sameCFA(&b.frame) || slot == none || a.frame.of(v).slot != none {
		return rows
	}
	from := b.lo
	for k := w.before(b.lo); k >= 0 && from > a.lo; k-- {
		in := &w.insns[k]
		if k+1 < len(w.insns) && w.leaves(k) || w.stores(in, &a.frame, slot) {
			break
		}
		from = max(in.at, a.lo)
	}
	return noted(rows, i-1, from, a.hi, func(f *frame) { f.of(v).slot = slot })
}

// on notes the slot of a value that row i-1 has in row i, up to a store.
func (w *widener) on(rows []row, i, v int) []row {
	a, b := &rows[i-1], &rows[i]
	slot := a.frame.of(v).slot
	if slot == none || b.frame.of(v).slot != none || b.frame.of(v).reg == noReg || !a.frame.sameCFA(&b.frame) {
		return rows
	}
	to := w.straight(b, func(in *place) bool { return w.stores(in, &a.frame, slot) })
	return noted(rows, i, b.lo, to, func(f *frame) { f.of(v).slot = slot })
}

// stays notes the register of a value that row i-1 has in row i, whose rule says the slot as soon as there
// is one, up to what writes the register.
func (w *widener) stays(rows []row, i, v int) []row {
	a, b := &rows[i-1], &rows[i]
	reg := a.frame.of(v).reg
	if reg == noReg || b.frame.of(v).reg != noReg || b.frame.of(v).slot == none || !a.frame.sameCFA(&b.frame) {
		return rows
	}
	r := w.register(reg, v)
	to := w.straight(b, func(in *place) bool { return writes(in, r) })
	return noted(rows, i, b.lo, to, func(f *frame) { f.of(v).reg = reg })
}

// register is the one that a value with a number is in.
func (w *widener) register(reg int8, v int) cpu.Reg {
	if reg == keeps {
		return w.img.tracked[v-1]
	}
	return w.img.regs[reg]
}

// straight is how far control comes from the instruction in front of a row only, without a call: up to
// the end of the first instruction that changes what is asked about.
func (w *widener) straight(r *row, changes func(in *place) bool) (to uint64) {
	k := w.before(r.lo) + 1
	if w.indirect || k == 0 || k >= len(w.insns) || w.insns[k].at != r.lo || changes(&w.insns[k-1]) {
		return r.lo
	}
	for to = r.lo; k < len(w.insns) && to < r.hi; k++ {
		in := &w.insns[k]
		if _, joined := slices.BinarySearch(w.targets, in.at); joined || w.leaves(k-1) || in.Op == cpu.OpCall {
			break
		}
		to = min(in.end(), r.hi)
		if changes(in) {
			break
		}
	}
	return to
}

// noted notes something in row i from lo up to hi, of which one is the row's own.
func noted(rows []row, i int, lo, hi uint64, note func(*frame)) []row {
	if lo >= hi {
		return rows
	}
	var parts []row
	for _, p := range [...]row{{rows[i].lo, lo, rows[i].frame}, {lo, hi, rows[i].frame}, {hi, rows[i].hi, rows[i].frame}} {
		if p.lo == lo && p.hi == hi {
			note(&p.frame)
		}
		if p.lo < p.hi {
			parts = append(parts, p)
		}
	}
	return slices.Replace(rows, i, i+1, parts...)
}

// before is the index of the instruction that begins last before an address, -1 if none does.
func (w *widener) before(addr uint64) int {
	i, _ := slices.BinarySearchFunc(w.insns, addr, func(p place, addr uint64) int {
		if p.at < addr {
			return -1
		}
		return 1
	})
	return i - 1
}

// leaves tells whether control never goes from instruction k to the next in memory: behind a
// jump, or behind the delay slot of one.
func (w *widener) leaves(k int) bool {
	if k > 0 && w.insns[k-1].next > w.insns[k].at {
		return w.insns[k-1].Ends(w.img.arch.PC)
	}
	return w.insns[k].next == w.insns[k].end() && w.insns[k].Ends(w.img.arch.PC)
}

// stores tells whether an instruction may store to a slot of the frame: it does unless it
// stores elsewhere, relative to the same register as the CFA.
func (w *widener) stores(in *place, f *frame, slot int32) bool {
	count := 1
	switch in.Op {
	case cpu.OpStoreMulti:
		count = in.List.Len()
	case cpu.OpStore:
		if in.Src2 != cpu.NoReg {
			count = 2
		}
	case cpu.OpUnknown:
		return true
	default:
		return false
	}
	size := int64(w.img.arch.RegSize)
	if in.Index != cpu.NoReg || in.Base != w.img.regs[f.base] || f.loaded {
		return true
	}
	lo := in.Imm - int64(f.off)*size
	hi := lo + int64(count)*max(int64(in.Size), size)
	return lo < (int64(slot)+1)*size && int64(slot)*size < hi
}

// writes tells whether an instruction may write a register.
func writes(in *place, r cpu.Reg) bool {
	switch in.Op {
	case cpu.OpNop, cpu.OpStore, cpu.OpStoreMulti:
		return in.WB != 0 && in.Base == r
	case cpu.OpUnknown, cpu.OpCall, cpu.OpLeave, cpu.OpSyscall:
		return true
	}
	return in.Dst == r || in.Dst2 == r || in.List.Has(r) || in.WB != 0 && in.Base == r
}
