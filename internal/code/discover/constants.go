package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// constants are the registers that hold a known number.
type constants struct {
	known cpu.RegSet
	value [cpu.MaxRegs]int64 // of those known
}

func (k *constants) get(r cpu.Reg) (int64, bool) {
	if !k.known.Has(r) {
		return 0, false
	}
	return k.value[r], true
}

func (k *constants) set(r cpu.Reg, v int64) {
	if r < cpu.MaxRegs {
		k.known, k.value[r] = k.known.With(r), v
	}
}

func (k *constants) setAll(set cpu.RegSet, v int64) {
	for ; set != 0; set = set.Without(set.First()) {
		k.set(set.First(), v)
	}
}

func (k *constants) forget(set cpu.RegSet) { k.known &^= set }

// restore gives registers the numbers that they have in o, as far as those are known.
func (k *constants) restore(set cpu.RegSet, o *constants) {
	k.known &^= set
	for known := set & o.known; known != 0; known = known.Without(known.First()) {
		k.set(known.First(), o.value[known.First()])
	}
}

// tracker follows constants through code that builds addresses: lui and addiu, adrp and
// add, movw and movt, li and sll, loads of literals.
type tracker struct {
	disasm.Code
	now constants
	// gp is what the registers of Arch.Globals hold between functions. Unless the value is
	// fixed from the start, the first function that computes gp tells.
	gp    constants
	fixed bool
}

func newTracker(code disasm.Code, gp *constants) tracker {
	return tracker{Code: code, gp: *gp, fixed: gp.known != 0}
}

// begin forgets all but gp.
func (t *tracker) begin() {
	t.now.known = 0
	t.now.restore(t.gp.known, &t.gp)
}

// step follows an instruction and tells the number that the instruction completes in a register;
// false where no number is known, and for moves, zero and gp.
func (t *tracker) step(in *cpu.Insn) (v int64, built bool) {
	switch in.Op {
	case cpu.OpCall:
		t.now.restore(^t.Arch.Preserved, &t.gp)
		return 0, false
	case cpu.OpClobber, cpu.OpUnknown, cpu.OpSyscall, cpu.OpLoadMulti:
		t.now.forget(in.List)
		return 0, false
	}
	v, known := t.result(in)
	if t.Arch.Globals.Has(in.Dst) {
		t.setGP(in, v, known)
		return 0, false
	}
	t.now.known = t.now.known.Without(in.Dst)
	if known {
		t.now.set(in.Dst, v)
	}
	t.now.known = t.now.known.Without(in.Dst2)
	return v, known && in.Dst < cpu.MaxRegs && in.Op != cpu.OpMove && v != 0
}

// setGP sets a register of Arch.Globals. What is not known of gp was loaded from the stack,
// where the function has saved it.
func (t *tracker) setGP(in *cpu.Insn, v int64, known bool) {
	switch {
	case !known:
		t.now.restore(cpu.SetOf(in.Dst), &t.gp)
		return
	case in.Op != cpu.OpConst && !t.fixed:
		t.gp.set(in.Dst, v)
	}
	t.now.set(in.Dst, v)
}

// result is what an instruction computes.
func (t *tracker) result(in *cpu.Insn) (int64, bool) {
	v, known := t.now.get(in.Src)
	switch in.Op {
	case cpu.OpConst:
		return in.Imm, true
	case cpu.OpInsert:
		v, known = t.now.get(in.Dst)
		return absint.Const(v).Insert(in).Off, known
	case cpu.OpMove:
		return v, known
	case cpu.OpAddImm:
		return v + in.Imm, known
	case cpu.OpOrImm:
		return v | in.Imm, known
	case cpu.OpShlImm:
		return v << (uint64(in.Imm) & 63), known
	case cpu.OpAdd:
		w, both := t.now.get(in.Src2)
		return v + w<<in.Scale, known && both
	case cpu.OpLoad:
		return t.loaded(in)
	}
	return 0, false
}

// loaded is the word of the file that an instruction loads from a known address.
func (t *tracker) loaded(in *cpu.Insn) (int64, bool) {
	at, known := t.word(in)
	if !known || int(in.Size) != t.Arch.AddrSize {
		return 0, false
	}
	word, ok := t.Img.Word(at)
	return absint.Signed(word, t.Arch), ok
}

// word is the address that an instruction reads a word from, where that is known.
func (t *tracker) word(in *cpu.Insn) (uint64, bool) {
	reads := in.Op == cpu.OpLoad || in.Flags&cpu.FlagMemory != 0
	at, known := int64(0), in.Base == cpu.NoReg
	if !known {
		at, known = t.now.get(in.Base)
	}
	return uint64(at+in.Imm) & t.Arch.AddrMask(), reads && known && in.Index == cpu.NoReg
}

// readPC notes what i386's way to read the PC leaves, on which position-independent code
// builds all addresses: call __x86.get_pc_thunk.bx; add $GOT,%ebx; lea f@GOTOFF(%ebx).
func (t *tracker) readPC(in *cpu.Insn, pc uint64) {
	if r, ok := disasm.PCThunk(t.Code, disasm.Target(in)); ok {
		t.now.set(r, absint.Signed(pc+uint64(in.Len), t.Arch))
	}
}
