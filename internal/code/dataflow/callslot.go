package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// CallSlot is the image address of the word that the indirect call at a site reads its
// target from, where that is a constant: a GOT entry. Code for MIPS loads the word into a
// register first:
//
//	lw   t9,-21124(gp)
//	jalr t9
func (f *Function) CallSlot(site disasm.Addr) (uint64, bool) {
	var in cpu.Insn
	if !f.an.One(site, &in) || in.Op != cpu.OpCall {
		return 0, false
	}
	return slotAt(f, site)
}

// Slots finds the words that a function's calls and jumps read their targets from. It is used by one goroutine.
type Slots struct {
	f    *Function
	ways map[uint64][]*block // by the beginning of a block, from where control comes; nil: not known yet
}

// NewSlots is for a function.
func NewSlots(f *Function) *Slots { return &Slots{f: f} }

// At is CallSlot for a jump, too, and where the word is loaded some blocks in front of the transfer:
//
//	mov  __gmon_start__@GOT(%rip),%rax
//	test %rax,%rax
//	je   1f
//	call *%rax
func (all *Slots) At(site disasm.Addr) (uint64, bool) {
	f := all.f
	var in cpu.Insn
	if slot, ok := slotAt(f, site); ok || !f.an.One(site, &in) || in.Flags&cpu.FlagMemory != 0 || in.Src == cpu.NoReg || in.Imm != 0 {
		return slot, ok
	}
	if all.ways == nil {
		all.ways = waysOf(f)
	}
	s := slotSearch{f: f, r: in.Src, ways: all.ways, met: map[uint64]bool{}}
	b, _ := f.blocks.at(site.PC)
	return s.slot & f.an.Arch.AddrMask(), b != nil && !s.written(b, site.PC) && s.before(b) && s.found
}

// maxSlotBlocks bounds the blocks that are searched for the load of a word.
const maxSlotBlocks = 16

// slotSearch looks for the word that a register was loaded from, backward from a block.
type slotSearch struct {
	f     *Function
	r     cpu.Reg
	ways  map[uint64][]*block
	met   map[uint64]bool
	slot  uint64
	found bool
}

// written tells whether a block writes the register in front of a place.
func (s *slotSearch) written(b *block, end uint64) (writes bool) {
	straight(s.f, b, func(in *cpu.Insn, pc uint64) {
		writes = writes || pc < end && (in.Writes(s.r) || in.Op == cpu.OpCall)
	})
	return writes
}

// before tells whether the register holds the same word on all ways to a block.
func (s *slotSearch) before(b *block) bool {
	if s.met[b.start] {
		return true
	}
	s.met[b.start] = true
	if len(s.met) > maxSlotBlocks || b.start == s.f.Entry.PC || len(s.ways[b.start]) == 0 {
		return false
	}
	for _, from := range s.ways[b.start] {
		if !s.written(from, from.end) {
			if !s.before(from) {
				return false
			}
			continue
		}
		a := loadedIn(s.f, from, from.end, s.r)
		if a.Kind != absint.Constant || s.found && s.slot != uint64(a.Off) {
			return false
		}
		s.slot, s.found = uint64(a.Off), true
	}
	return true
}

// waysOf are the blocks from which control comes to each block.
func waysOf(f *Function) map[uint64][]*block {
	ways, s := map[uint64][]*block{}, newCallPaths(f, f.Entry)
	for _, from := range f.blocks {
		s.pass(from, from.in, func(to uint64, _ *absint.State, _ edge) {
			if !slices.Contains(ways[to], from) {
				ways[to] = append(ways[to], from)
			}
		})
	}
	return ways
}

// slotAt is Slots.At within the block of the transfer.
func slotAt(f *Function, site disasm.Addr) (uint64, bool) {
	var st absint.State
	var in cpu.Insn
	if !f.StateAt(site, &st) || !f.an.One(site, &in) || in.Op != cpu.OpCall && in.Op != cpu.OpJump {
		return 0, false
	}
	a := absint.Value{}
	switch {
	case in.Flags&cpu.FlagMemory != 0:
		a = st.Operand(&in)
	case in.Src != cpu.NoReg && in.Imm == 0:
		a = loadedFrom(f, site, in.Src)
	}
	return uint64(a.Off) & f.an.Arch.AddrMask(), a.Kind == absint.Constant
}

// maxRun bounds the instructions in front of a call among landing pads that are looked at.
const maxRun = 16

// LandingPadCallSlot is CallSlot for a call behind f's entry to which no flow comes: of a landing pad, where gp has the
// value that gp has behind f's calls. In cmake for MIPS, the pad at 0x380500 of mipsel's so calls operator delete:
//
//	lw   gp,16(sp)
//	lw   a1,68(sp)
//	lw   t9,-8276(gp)
//	jalr t9
func LandingPadCallSlot(f *Function, site disasm.Addr) (slot uint64, ok bool) {
	arch := f.an.Arch
	back := maxRun * max(arch.InsnAlign, 1)
	if arch.Globals == 0 || f.BehindCalls == "" || site.Mode != f.Entry.Mode || site.PC < f.Entry.PC+back {
		return 0, false
	}
	var st absint.State
	f.BehindCalls.Decode(&st)
	gp := st.Get(arch.Globals.First())
	var buf [maxRun + 1]cpu.Insn
	loaded, pc := cpu.NoReg, site.PC-back
	for _, in := range buf[:f.an.Decode(disasm.Addr{PC: pc, Mode: site.Mode}, buf[:])] {
		switch {
		case pc == site.PC:
			return slot, in.Op == cpu.OpCall && in.Src != cpu.NoReg && in.Src == loaded && in.Imm == 0
		case disasm.Transfers(&in, arch):
			loaded = cpu.NoReg
		case in.Op == cpu.OpLoad && arch.Globals.Has(in.Base) && in.Index == cpu.NoReg && int(in.Size) == arch.AddrSize && gp.Kind == absint.Constant:
			loaded, slot = in.Dst, uint64(gp.Off+in.Imm)&arch.AddrMask()
		case in.Writes(loaded):
			loaded = cpu.NoReg
		}
		pc += uint64(in.Len)
	}
	return 0, false
}

// loadedFrom is the address from which the block of a call has loaded what a register holds at the call.
func loadedFrom(f *Function, site disasm.Addr, r cpu.Reg) (a absint.Value) {
	b, _ := f.blocks.at(site.PC)
	return loadedIn(f, b, site.PC, r)
}

// loadedIn is the address from which a block has loaded what a register holds at a place.
func loadedIn(f *Function, b *block, end uint64, r cpu.Reg) (a absint.Value) {
	var st absint.State
	b.in.Decode(&st)
	straight(f, b, func(in *cpu.Insn, pc uint64) {
		at := st.Operand(in)
		if f.interp.Exec(&st, in, pc); pc > end || !in.Writes(r) {
			return // such as the call's delay slot, which runs when the target is read
		}
		a = absint.Value{}
		if in.Op == cpu.OpLoad && in.Dst == r && in.Flags&cpu.FlagConditional == 0 && int(in.Size) == f.an.Arch.AddrSize {
			a = at
		}
	})
	return a
}
