package discover

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Mention is a function in which N instructions may end in the address of a place, or jump there; Returns are
// where the function's direct calls of the place return to.
type Mention struct {
	Function disasm.Addr
	N        int
	Returns  []uint64
}

// MentionsOf are the functions whose instructions call a place, may build the place's address, by the numbers
// that the instructions hold and in whatever order they run, or jump there from elsewhere: a list of which
// nothing is missing where compilers build an address within one function, in the usual ways. Following
// constants through the code, as BuiltByCode does, misses an address whose upper half the delay slot of a branch
// has:
//
//	beqz  v0, L
//	lui   v0, %hi(mid_a)        L:  addiu v0, v0, %lo(mid_a)
//
// ok is false where the code is too large to be looked through, more than most functions are found, or pointers
// to the place differ from its address (Thumb).
func MentionsOf(e *Entries, at disasm.Addr, most int) (list []Mention, ok bool) {
	if e.code.Arch.ISABit && at.Mode != 0 {
		return nil, false
	}
	index := e.mentioned()
	m := mentions{code: e.code, place: at.PC, mask: e.code.Arch.AddrMask()}
	for _, i := range index.with[at.PC&pagePart] {
		f := index.functions[i]
		m.jumps = f.entry != at
		m.in(f)
		if n := m.count(); n > 0 || len(m.returns) > 0 {
			list = append(list, Mention{f.entry, n, slices.Clone(m.returns)})
		}
		if len(list) > most {
			return nil, false
		}
	}
	return list, index.whole
}

// extent is a function with all that stands up to the next.
type extent struct {
	entry disasm.Addr
	end   uint64
}

// mentionIndex has the functions by the numbers in their instructions: by the bits that the second of two
// instructions adds to an address.
type mentionIndex struct {
	functions []extent
	with      [pagePart + 1][]uint32 // indices of functions
	whole     bool                   // all code is in it
}

func newMentionIndex(e *Entries) *mentionIndex {
	x, left := &mentionIndex{}, maxVisited
	starts := e.Certain()
	for i, key := range starts {
		f := extent{e.code.Addr(key), 0}
		f.end = endOf(e.code, f.entry.PC)
		if i+1 < len(starts) {
			f.end = min(f.end, e.code.Addr(starts[i+1]).PC)
		}
		x.functions = append(x.functions, f)
		f.each(e.code, func(_ uint64, in *cpu.Insn) bool {
			if left--; left >= 0 {
				x.add(uint32(i), in)
			}
			return left >= 0
		})
	}
	x.whole = left >= 0
	return x
}

// add notes the number in an instruction of function i.
func (x *mentionIndex) add(i uint32, in *cpu.Insn) {
	v := uint64(in.Imm)
	switch in.Op {
	case cpu.OpCall, cpu.OpJump:
		if v = in.Target; v == 0 {
			return
		}
	case cpu.OpConst, cpu.OpAddImm, cpu.OpOrImm:
	default:
		return
	}
	list := &x.with[v&pagePart]
	if n := len(*list); n == 0 || (*list)[n-1] != i {
		*list = append(*list, i)
	}
}

// each calls visit for the instructions, by address, until visit returns false.
func (f *extent) each(code disasm.Code, visit func(pc uint64, in *cpu.Insn) bool) {
	var insns [64]cpu.Insn
	for at := f.entry; at.PC < f.end; {
		n := code.Decode(at, insns[:])
		if n == 0 {
			return
		}
		for i := 0; i < n && at.PC < f.end; i++ {
			if !visit(at.PC, &insns[i]) {
				return
			}
			at.PC += uint64(max(insns[i].Len, 1))
		}
	}
}

// mentions counts the instructions of one function after the other that end in the address of a place.
type mentions struct {
	code        disasm.Code
	place, mask uint64
	jumps       bool       // a jump to the place leaves the function
	returns     []uint64   // of direct calls
	whole       int        // constants that are the address, and jumps
	needed      []addition // those that may end in the address
	parts       []uint64   // constants that may be there before
	run         run
}

// in looks at the instructions of a function.
func (m *mentions) in(f extent) {
	m.returns, m.whole, m.needed, m.parts = m.returns[:0], 0, m.needed[:0], m.parts[:0]
	m.run.begin(f, m.mask)
	f.each(m.code, func(pc uint64, in *cpu.Insn) bool {
		if in.Op == cpu.OpCall && in.Target != 0 && in.Target == m.place {
			if ra, ok := m.code.ReturnAddress(disasm.Addr{PC: pc, Mode: f.entry.Mode}); ok {
				m.returns = append(m.returns, ra)
			}
		}
		m.note(pc, in)
		m.run.step(pc, in)
		return true
	})
}

// pagePart are the bits that the first of two instructions leaves to the second: 12 on AArch64 (adrp) and
// RISC-V, 16 on MIPS.
const pagePart = 1<<12 - 1

// note looks at an instruction: lea has the whole address, lui and adrp its upper part, movw the lower half
// for movt.
func (m *mentions) note(pc uint64, in *cpu.Insn) {
	v := uint64(in.Imm)
	switch in.Op {
	case cpu.OpJump:
		if m.jumps && in.Target != 0 && in.Target == m.place {
			m.whole++
		}
	case cpu.OpConst:
		switch v &= m.mask; {
		case v == m.place:
			m.whole++
		case v&pagePart == 0, v == m.place&0xffff:
			m.parts = append(m.parts, v)
		}
	case cpu.OpAddImm, cpu.OpOrImm:
		if before := (m.place - v) & m.mask; before&pagePart == 0 && v != 0 {
			m.needed = append(m.needed, m.run.addition(pc, in.Src, before))
		}
	case cpu.OpInsert: // the lower half is a constant, which the index has
		if v&0xffff == m.place>>in.Scale&0xffff {
			m.needed = append(m.needed, addition{before: m.place &^ (0xffff << in.Scale)})
		}
	}
}

// count is how many instructions of the function end in the address.
func (m *mentions) count() int {
	n := m.whole
	for _, a := range m.needed {
		if slices.Contains(m.parts, a.before) && !m.run.decides(&a) {
			n++
		}
	}
	return n
}
