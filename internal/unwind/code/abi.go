package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// The way of the MIPS ABI supplement to read a frame from code, which most
// embedded backtracers follow. It relies on rules for compilers that no compiler
// keeps any more: one allocation of the frame, in the first basic block, which
// also saves the registers; one return, behind which the next function begins.
//
//	        jr    ra            ◄─ a return: the function begins behind it
//	        lui   gp,…
//	        addiu sp,sp,-32     ◄─ scanning up from the PC: the frame
//	        sw    ra,28(sp)        the rest of this block saves registers
//	        bnez  a0,…
//	        …
//	pc ──►  lw    v0,0(a1)
//
// It is the last answer, marked as a fallback, for places to which no other
// derivation applies: code that is entered in a way that nobody sees and never
// returns. It needs instructions of one size.

const (
	// abiSpan is how many instructions the scan goes up. Functions of more than
	// 16 KiB are rare, and most frames are met much earlier.
	abiSpan = 4096
	// abiBlock bounds the first basic block, which is looked at from its start.
	abiBlock = 256
)

// fallback is the answer behind those that a place's derivations gave: the ABI's,
// unless it was among them.
func (an *analysis) fallback(q *unwind.Query, l *lookup, out *unwind.Rule) unwind.Verdict {
	if q.Try > len(l.rules) || q.HasEntry {
		return unwind.NotCovered
	}
	p, ok := an.place(q)
	if !ok || !an.abiRule(p, out) || contains(l.rules, out, an.arch) {
		return unwind.NotCovered
	}
	return unwind.Found
}

// abiRule answers for a place by the ABI's method: from the function's start if
// it is known, else from what the scan upwards finds.
func (an *analysis) abiRule(p place, out *unwind.Rule) bool {
	if an.insnSize(p.mode) == 0 {
		return false
	}
	start, ok := an.abiBounds(p)
	if !ok {
		start, ok = an.abiScan(p)
	}
	return ok && an.abiFrom(start, p, out)
}

// abiBounds is the entry of the function that holds a place, if it is known.
func (an *analysis) abiBounds(p place) (start uint64, ok bool) {
	for _, e := range an.entriesBelow(p.site, p.mode) {
		if b, _ := an.function(e, p.mode).at(p.site); b != nil {
			return e, true
		}
	}
	return 0, false
}

// insnSize is the size of all instructions of a mode, 0 where they differ: RISC-V
// has compressed ones, Thumb and MIPS16e two sizes, x86 many.
func (an *analysis) insnSize(mode cpu.Mode) uint64 {
	a := an.arch
	if a.LR != cpu.NoReg && mode == 0 && (a.InsnAlign == 4 || a.ISABit && !a.ModeOnly) {
		return 4
	}
	return 0
}

// abiScan looks up from a place for what the ABI says a function begins with: the
// block that allocates the frame, or else the instruction behind a return.
func (an *analysis) abiScan(p place) (start uint64, ok bool) {
	size := an.insnSize(p.mode)
	var in cpu.Insn
	for pc, n := p.site-size, 0; n < abiSpan && an.decodeOne(pc, p.mode, &in); pc, n = pc-size, n+1 {
		switch {
		case an.allocates(&in):
			return an.abiBlockStart(pc, p.mode), true
		case in.Op == cpu.OpReturn && in.Flags&cpu.FlagConditional == 0:
			start = pc + size
			if in.Flags&cpu.FlagDelaySlot != 0 {
				start += size
			}
			return an.skipPadding(start, p.mode), start <= p.site
		}
	}
	return 0, false
}

// decodeOne decodes the instruction at pc; false where no code is.
func (an *analysis) decodeOne(pc uint64, mode cpu.Mode, in *cpu.Insn) bool {
	var buf [1]cpu.Insn
	if an.arch.Decoder.Decode(an.img.Code(pc), pc, mode, buf[:]) == 0 {
		return false
	}
	*in = buf[0]
	return true
}

// allocates tells whether an instruction lowers SP, as far as it shows by itself.
func (an *analysis) allocates(in *cpu.Insn) bool {
	sp := an.arch.SP
	switch in.Op {
	case cpu.OpAddImm:
		return in.Dst == sp && in.Src == sp && in.Imm < 0
	case cpu.OpSub:
		return in.Dst == sp && in.Src == sp
	case cpu.OpStore, cpu.OpStoreMulti:
		return in.Base == sp && in.WB < 0
	}
	return false
}

// abiBlockStart is the start of the basic block around pc: behind the last
// transfer above it. The block may build the frame's size first.
func (an *analysis) abiBlockStart(pc uint64, mode cpu.Mode) uint64 {
	size := an.insnSize(mode)
	m := machine{arch: an.arch}
	var in cpu.Insn
	start := pc
	for range abiBlock {
		if !an.decodeOne(start-size, mode, &in) {
			break
		}
		if m.transfers(&in) {
			if in.Flags&cpu.FlagDelaySlot != 0 && start < pc {
				start += size
			}
			break
		}
		start -= size
	}
	return start
}

// abiFrom runs the first basic block from start, as far as it lies before the
// place, and takes its frame for the function's.
func (an *analysis) abiFrom(start uint64, p place, out *unwind.Rule) bool {
	m := newMachine(an.img)
	var st state
	st.reset(an.arch)
	if !m.firstBlock(start, p, &st) || !p.exact {
		m.trustSlots(&st)
	}
	if !p.exact {
		m.clobber(&st, m.callerSaved, p.site)
	}
	out.Reset()
	if !m.derive(&st, out) {
		return false
	}
	out.Flags = unwind.Fallback
	return true
}

// firstBlock executes the block at start until the place, which it tells, or to
// its end with the delay slot.
func (m *machine) firstBlock(start uint64, p place, st *state) (within bool) {
	var buf [2]cpu.Insn
	for pc, n := start, 0; n < abiBlock; n++ {
		if pc == p.site {
			return true
		}
		k := m.arch.Decoder.Decode(m.img.Code(pc), pc, p.mode, buf[:])
		if k == 0 {
			return false
		}
		if m.transfers(&buf[0]) {
			if k == 2 && buf[0].Flags&cpu.FlagDelaySlot != 0 {
				m.exec(st, &buf[1], pc+uint64(buf[0].Len))
			}
			return false
		}
		m.exec(st, &buf[0], pc)
		pc += uint64(buf[0].Len)
	}
	return false
}

// trustSlots forgets the registers that were saved: what became of them behind
// the first block is not known, but their slots last as long as the frame.
func (m *machine) trustSlots(st *state) {
	for s := m.arch.Preserved.With(m.arch.LR); s != 0; s = s.Without(s.First()) {
		r := s.First()
		for i := range st.slots {
			if st.slots[i].val == startOf(r) && st.regs[r].isStart(r) {
				st.regs[r] = value{}
				break
			}
		}
	}
}
