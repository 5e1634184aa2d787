package discover

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Mention is a function in which N instructions may end in the address of a place, or jump there, Jumps of them the
// latter; Returns are where the function's direct calls of the place return to.
type Mention struct {
	Function disasm.Addr
	N, Jumps int
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
// ok is false where the code is too large to be looked through, more than most functions mention the place, of which the
// first are listed, or pointers to the place differ from its address (Thumb).
func MentionsOf(e *Entries, at disasm.Addr, most int) (list []Mention, ok bool) {
	if e.code.Arch.ISABit && at.Mode != 0 {
		return nil, false
	}
	index := e.mentioned()
	m := mentions{code: e.code, place: at.PC, mask: e.code.Arch.AddrMask()}
	for _, i := range index.candidates(at.PC & m.mask) {
		f := index.functions[i]
		m.jumps = f.entry != at
		m.in(f)
		if n := m.count(); n > 0 || len(m.returns) > 0 {
			if len(list) == most {
				return list, false
			}
			list = append(list, Mention{f.entry, n, m.jumped, slices.Clone(m.returns)})
		}
	}
	return list, index.whole
}

// extent is a function with all that stands up to the next.
type extent struct {
	entry disasm.Addr
	end   uint64
}

// mentionIndex has the functions by the numbers in their instructions: by whole addresses, and by the bits that the
// second of two instructions adds to an address. x86's instructions have whole addresses; there functions start at every
// 16 bytes and small numbers are added everywhere, so that the latter would name thousands of a kernel's functions.
type mentionIndex struct {
	functions []extent
	with      [1 << hashBits][]holder // functions with an address
	adding    [pagePart + 1][]uint32  // indices of functions with an addition
	mask      uint64                  // of addresses
	inParts   bool                    // two instructions build an address
	whole     bool                    // all code is in it
}

// holder is the function of an index, whose instructions have an address with these bits of its hash. By the list's
// number alone the data behind a kernel's last function, in which some instruction seems to have any address, would be
// looked through for every place.
type holder struct{ function, hash uint32 }

// hashBits choose a list: of some 500,000 calls and constants of a kernel 30 are in the same.
const hashBits = 14

// hashOf is the product with 2⁶⁴/φ, whose upper bits all bits of the address change: the number of a list, and more bits.
func hashOf(addr uint64) (list uint64, more uint32) {
	h := addr * 0x9e37_79b9_7f4a_7c15
	return h >> (64 - hashBits), uint32(h >> (32 - hashBits))
}

// holders appends the indices of the functions that have an address.
func (x *mentionIndex) holders(to []uint32, addr uint64) []uint32 {
	list, more := hashOf(addr)
	for _, h := range x.with[list] {
		if h.hash == more {
			to = append(to, h.function)
		}
	}
	return to
}

// hold notes that function i has an address.
func (x *mentionIndex) hold(i uint32, addr uint64) {
	at, more := hashOf(addr)
	h, list := holder{i, more}, x.with[at]
	if n := len(list); n == 0 || list[n-1] != h {
		x.with[at] = append(list, h)
	}
}

// candidates are the indices of the functions that may mention a place, in order: those with the place's address, or with
// the half of that to which movt adds the other.
func (x *mentionIndex) candidates(place uint64) []uint32 {
	list := x.holders(nil, place)
	if x.inParts {
		list = append(x.holders(list, place&0xffff), x.builders(place)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// builders are the indices of the functions that have an addition to one of the constants from which it leads to a
// place, and that constant. Additions have up to 16 bits, with a sign.
func (x *mentionIndex) builders(place uint64) (list []uint32) {
	adding := x.adding[place&pagePart]
	page := place &^ pagePart
	for before := page - 1<<15; before != page+1<<15+pagePart+1; before += pagePart + 1 {
		for _, i := range x.holders(nil, before&x.mask) {
			if _, ok := slices.BinarySearch(adding, i); ok {
				list = append(list, i)
			}
		}
	}
	return list
}

// maxExtent bounds the instructions of one function: data that follow the last one of a section, as those behind the
// initializers of Linux for x86-64 do, would take all that may be looked at.
const maxExtent = 1 << 18

func newMentionIndex(e *Entries) *mentionIndex {
	x, left := &mentionIndex{whole: true, mask: e.code.Arch.AddrMask(), inParts: e.code.Arch.InsnAlign > 1}, maxVisited
	starts := e.Certain()
	for i, key := range starts {
		f := extent{e.code.Addr(key), 0}
		f.end = endOf(e.code, f.entry.PC)
		if i+1 < len(starts) {
			f.end = min(f.end, e.code.Addr(starts[i+1]).PC)
		}
		within := min(left, maxExtent)
		disasm.Each(e.code, f.entry, f.end, func(at disasm.Addr, in *cpu.Insn) bool {
			if within--; within < 0 {
				f.end, x.whole = at.PC, false
				return false
			}
			left--
			x.add(uint32(i), in)
			return true
		})
		x.functions = append(x.functions, f)
	}
	return x
}

// add notes the number in an instruction of function i.
func (x *mentionIndex) add(i uint32, in *cpu.Insn) {
	switch v := uint64(in.Imm); in.Op {
	case cpu.OpCall, cpu.OpJump:
		if in.Target != 0 {
			x.hold(i, in.Target&x.mask)
		}
	case cpu.OpConst:
		x.hold(i, v&x.mask)
	case cpu.OpAddImm, cpu.OpOrImm:
		list := &x.adding[v&pagePart]
		if n := len(*list); x.inParts && (n == 0 || (*list)[n-1] != i) {
			*list = append(*list, i)
		}
	}
}

// mentions counts the instructions of one function after the other that end in the address of a place.
type mentions struct {
	code        disasm.Code
	place, mask uint64
	jumps       bool       // a jump to the place leaves the function
	jumped      int        // such jumps
	returns     []uint64   // of direct calls
	whole       int        // constants that are the address
	needed      []addition // those that may end in the address
	parts       []uint64   // constants that may be there before
	run         run
}

// in looks at the instructions of a function.
func (m *mentions) in(f extent) {
	m.returns, m.whole, m.jumped, m.needed, m.parts = m.returns[:0], 0, 0, m.needed[:0], m.parts[:0]
	m.run.begin(f, m.mask)
	disasm.Each(m.code, f.entry, f.end, func(at disasm.Addr, in *cpu.Insn) bool {
		if in.Op == cpu.OpCall && in.Target != 0 && in.Target == m.place {
			if ra, ok := m.code.ReturnAddress(at); ok {
				m.returns = append(m.returns, ra)
			}
		}
		m.note(at.PC, in)
		m.run.step(at.PC, in)
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
			m.jumped++
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
	n := m.whole + m.jumped
	for _, a := range m.needed {
		if slices.Contains(m.parts, a.before) && !m.run.decides(&a) {
			n++
		}
	}
	return n
}
