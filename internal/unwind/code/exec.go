package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// machine executes effects on states of one image. It is the part of an analysis
// that both directions share.
type machine struct {
	img    *image.Image
	arch   *cpu.Arch
	tables []jumpTable
	// symbols maps the address of an instruction that makes SP unknowable to the
	// base that stands for the result, so that paths through it agree.
	symbols map[uint64]base
	// callerSaved are the registers that a call clobbers.
	callerSaved cpu.RegSet
}

func newMachine(img *image.Image) machine {
	a := img.Arch
	all := cpu.RegSet(1)<<len(a.Regs) - 1
	keep := a.Preserved.With(a.SP).With(a.Zero).With(a.PC)
	return machine{img: img, arch: a, callerSaved: all &^ keep}
}

// symbol is a fresh unknown for the instruction at pc, unknown when there are
// too many.
func (m *machine) symbol(pc uint64) value {
	b, ok := m.symbols[pc]
	if !ok {
		n := int(firstSymbol) + len(m.symbols)
		if n > 250 {
			return value{}
		}
		if m.symbols == nil {
			m.symbols = map[uint64]base{}
		}
		b = base(n)
		m.symbols[pc] = b
	}
	return value{kind: addr, base: b}
}

// exec applies the effect of the instruction at pc that is no transfer of
// control; of a transfer it applies the register effects only.
func (m *machine) exec(s *state, in *cpu.Insn, pc uint64) {
	if in.Flags&cpu.FlagConditional != 0 && !isTransfer(in) {
		var skipped state
		skipped.copyFrom(s)
		m.effect(s, in, pc)
		s.join(&skipped)
		return
	}
	m.effect(s, in, pc)
}

func isTransfer(in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpJump, cpu.OpCall, cpu.OpReturn:
		return true
	}
	return false
}

func (m *machine) effect(s *state, in *cpu.Insn, pc uint64) {
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap, cpu.OpJump:
	case cpu.OpUnknown, cpu.OpClobber, cpu.OpSyscall:
		m.clobber(s, in.List, pc)
	case cpu.OpConst:
		m.assign(s, in.Dst, constant(in.Imm), pc)
	case cpu.OpInsert:
		m.assign(s, in.Dst, insert(s.get(in.Dst), in), pc)
	case cpu.OpMove:
		m.bring(s, in.Dst, s.get(in.Src))
	case cpu.OpAddImm:
		m.assign(s, in.Dst, m.width(s.get(in.Src).plus(in.Imm), in), pc)
	case cpu.OpAdd:
		m.assign(s, in.Dst, m.width(m.sum(s.get(in.Src), m.extended(s.get(in.Src2), in), in.Scale), in), pc)
	case cpu.OpSub:
		m.assign(s, in.Dst, m.width(difference(s.get(in.Src), m.extended(s.get(in.Src2), in), in.Scale), in), pc)
	case cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpOr:
		m.assign(s, in.Dst, m.logic(s, in), pc)
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		m.access(s, in, pc)
	case cpu.OpLeave:
		m.leave(s)
	case cpu.OpCall:
		m.call(s, in, pc)
	case cpu.OpReturn:
		if in.Imm != 0 && in.Src != cpu.NoReg {
			s.set(m.arch.SP, s.get(m.arch.SP).plus(in.Imm), m.arch)
		}
	case cpu.OpCompareImm:
		s.limit, s.slack = in.Imm+1, 1
		if in.Dst != cpu.NoReg {
			s.limit, s.slack = in.Imm, 0
			m.assign(s, in.Dst, value{}, pc)
		}
	}
}

// assign sets a register; a stack pointer that is computed (alloca, alignment)
// and so becomes unknown gets a symbol, so that what is stored relative to it can
// still be found. One that is loaded or moved in from elsewhere is another stack.
func (m *machine) assign(s *state, r cpu.Reg, v value, pc uint64) {
	if r == m.arch.SP {
		if v.kind == unknown {
			v = m.symbol(pc)
		}
		s.moveSP(r, v)
		return
	}
	s.set(r, v, m.arch)
}

// bring sets a register to a value that was moved or loaded.
func (m *machine) bring(s *state, r cpu.Reg, v value) {
	if r == m.arch.SP {
		if v.kind == unknown {
			v.kind = otherStack
		}
		s.moveSP(r, v)
		return
	}
	s.set(r, v, m.arch)
}

func (m *machine) clobber(s *state, set cpu.RegSet, pc uint64) {
	for ; set != 0; set = set.Without(set.First()) {
		m.assign(s, set.First(), value{}, pc)
	}
}

// width cuts a result to 32 bits where the instruction does.
func (m *machine) width(v value, in *cpu.Insn) value {
	if in.Flags&cpu.FlagWord32 != 0 {
		return v.truncate(m.arch.AddrSize)
	}
	if v.kind == konst && m.arch.RegSize == 4 {
		v.off = int64(int32(v.off))
	}
	return v
}

func insert(v value, in *cpu.Insn) value {
	if v.kind != konst {
		return value{}
	}
	return constant(v.off&^(0xffff<<in.Scale) | in.Imm<<in.Scale)
}

// extended is an operand of which an instruction takes the low bytes: a constant
// or the element of a table of that size (ldrh w4; add x4,x1,w4,sxth #2).
func (m *machine) extended(v value, in *cpu.Insn) value {
	switch {
	case in.Flags&cpu.FlagSigned == 0 || in.Size == 0 || in.Size > 8:
		return v
	case v.kind == konst:
		unused := 64 - 8*uint(in.Size)
		return constant(v.off << unused >> unused)
	case v.kind == table && m.tables[v.off].size == in.Size:
		return m.signed(v)
	}
	return value{}
}

// sum is a + b<<scale, where one of them is a constant or a table's element.
func (m *machine) sum(a, b value, scale uint8) value {
	switch {
	case a.kind == table && b.kind == konst:
		return m.relative(a, b.off<<scale, 0)
	case a.kind == konst && b.kind == table:
		return m.relative(b, a.off, scale)
	case b.kind == konst:
		return a.plusConst(b.off << scale)
	case a.kind == konst && scale == 0 && b.kind != unknown:
		return b.plus(a.off)
	case a.kind == konst && b.kind == unknown:
		return value{kind: indexed, off: a.off}
	}
	return value{}
}

// plusConst is v + k, where an unknown v makes the constant the start of a table.
func (v value) plusConst(k int64) value {
	if v.kind == unknown {
		return value{kind: indexed, off: k}
	}
	return v.plus(k)
}

func difference(a, b value, scale uint8) value {
	switch {
	case b.kind == konst:
		return a.plus(-(b.off << scale))
	case a.kind == addr && b.kind == addr && a.base == b.base && scale == 0:
		return constant(a.off - b.off)
	}
	return value{}
}

func (m *machine) logic(s *state, in *cpu.Insn) value {
	a := s.get(in.Src)
	if in.Op == cpu.OpOr {
		b := s.get(in.Src2)
		switch {
		case a.kind == konst && b.kind == konst:
			return constant(a.off | b.off)
		case a == constant(0):
			return b
		case b == constant(0):
			return a
		}
		return value{}
	}
	if a.kind == table {
		switch {
		case in.Op == cpu.OpShlImm:
			return m.scaled(a, uint8(in.Imm))
		case in.Op == cpu.OpOrImm && in.Imm == 1 && m.arch.ISABit:
			return a // Thumb labels are stored even: orr r3,#1; bx r3
		}
		return value{}
	}
	if a.kind != konst {
		return value{}
	}
	switch in.Op {
	case cpu.OpOrImm:
		a.off |= in.Imm
	case cpu.OpAndImm:
		a.off &= in.Imm
	case cpu.OpShlImm:
		a.off <<= uint64(in.Imm) & 63
	}
	return m.width(a, in)
}

// operand is the address of a memory operand; unknown with an unknown index,
// unless the rest is constant.
func (m *machine) operand(s *state, in *cpu.Insn) value {
	a := constant(in.Imm)
	if in.Base != cpu.NoReg {
		a = s.get(in.Base).plus(in.Imm)
	}
	if in.Index == cpu.NoReg {
		return a
	}
	x := s.get(in.Index)
	if x.kind == konst && a.kind == konst && in.Scale > 1 {
		// Compilers do not index a table by a constant: it holds on a path that the
		// bounds check keeps away, or on one of several that are not known yet.
		return value{kind: indexed, off: a.off}
	}
	if x.kind == konst {
		return a.plus(x.off << in.Scale)
	}
	if a.kind == konst || a.kind == indexed && x.kind == unknown {
		return value{kind: indexed, off: a.off}
	}
	return value{}
}

// access does loads and stores, with write-back.
func (m *machine) access(s *state, in *cpu.Insn, pc uint64) {
	a := m.operand(s, in)
	if in.Base != cpu.NoReg && in.WB != 0 {
		back := s.get(in.Base).plus(int64(in.WB))
		defer func() {
			// A loaded base wins over its write-back (pop of SP).
			if !(in.Op == cpu.OpLoad && in.Dst == in.Base) && !(in.Op == cpu.OpLoadMulti && in.List.Has(in.Base)) {
				m.assign(s, in.Base, back, pc)
			}
		}()
	}
	switch in.Op {
	case cpu.OpStore:
		s.store(a, s.get(in.Src), in.Size)
		if in.Src2 != cpu.NoReg {
			s.store(a.plus(int64(in.Size)), s.get(in.Src2), in.Size)
		}
	case cpu.OpLoad:
		v := m.loaded(s, a, in)
		v2 := value{}
		if in.Dst2 != cpu.NoReg {
			v2 = m.loaded(s, a.plus(int64(in.Size)), in)
		}
		m.bring(s, in.Dst, v)
		m.bring(s, in.Dst2, v2)
	case cpu.OpStoreMulti, cpu.OpLoadMulti:
		m.multiple(s, in, a, pc)
	}
}

func (m *machine) multiple(s *state, in *cpu.Insn, a value, pc uint64) {
	for set := in.List; set != 0; set = set.Without(set.First()) {
		r := set.First()
		if in.Op == cpu.OpStoreMulti {
			s.store(a, s.get(r), in.Size)
		} else {
			m.assign(s, r, m.loaded(s, a, in), pc)
		}
		a = a.plus(int64(in.Size))
	}
}

// loaded is the value of one loaded element: a slot, a word of the file's
// read-only part, or a table's element.
func (m *machine) loaded(s *state, a value, in *cpu.Insn) value {
	switch a.kind {
	case addr:
		if int(in.Size) != m.arch.RegSize && int(in.Size) != m.arch.AddrSize {
			return value{}
		}
		return s.load(a, in.Size)
	case konst:
		return m.word(uint64(a.off)&m.arch.AddrMask(), in)
	case indexed:
		return m.element(uint64(a.off)&m.arch.AddrMask(), in, s)
	}
	return value{}
}

// word is what the file holds at a constant address: literal pools, GOT entries.
func (m *machine) word(at uint64, in *cpu.Insn) value {
	size := int(in.Size)
	if size != m.arch.AddrSize && size != 4 {
		return value{}
	}
	v, ok := m.img.Uint(at, size)
	if !ok || v == 0 {
		return value{}
	}
	k := constant(int64(v))
	if size == 4 && (in.Flags&cpu.FlagSigned != 0 || m.arch.AddrSize == 4) {
		k = constant(int64(int32(v)))
	}
	if s, ok := m.img.Segment(at); ok && s.Write {
		k.base = stored
	}
	return k
}

// leave is x86's: SP = FP; FP = mem[SP]; SP += word.
func (m *machine) leave(s *state) {
	fp := s.get(m.arch.FP)
	s.set(m.arch.FP, s.load(fp, uint8(m.arch.RegSize)), m.arch)
	if sp := fp.plus(int64(m.arch.RegSize)); sp.kind != unknown {
		s.moveSP(m.arch.SP, sp)
	}
}

// call does what a call leaves behind once it returned: the ABI's clobbers. The
// PC-reading idioms (bal .+8, call +0) only write the link register or push.
func (m *machine) call(s *state, in *cpu.Insn, pc uint64) {
	if in.Flags&cpu.FlagGetPC != 0 {
		next := constant(int64(pc) + int64(in.Len))
		if in.Dst != cpu.NoReg {
			if in.Flags&cpu.FlagDelaySlot != 0 {
				next = next.plus(int64(in.Len)) // the delay slot
			}
			m.assign(s, in.Dst, next, pc)
			return
		}
		sp := s.get(m.arch.SP).plus(-int64(m.arch.RegSize))
		s.store(sp, next, uint8(m.arch.RegSize))
		m.assign(s, m.arch.SP, sp, pc)
		return
	}
	if in.Dst != cpu.NoReg && in.Dst != m.arch.LR {
		s.set(in.Dst, value{}, m.arch) // millicode: the helper is followed by the analysis
		return
	}
	for set := m.callerSaved; set != 0; set = set.Without(set.First()) {
		s.regs[set.First()] = value{}
	}
	s.limit = 0
}
