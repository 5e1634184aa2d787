package absint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Interp executes instructions of one image on states. One analysis uses one interpreter
// for all of its states, because the interpreter numbers the symbols and tables that the
// states name.
type Interp struct {
	disasm.Code
	JumpTables JumpTables
	// clobbered are the registers that a call clobbers. gp is none: a callee may leave another image's
	// there, and then the caller loads its own again before use. Behind a call that never returns, code
	// that others jump to uses gp as it is.
	clobbered cpu.RegSet
	// symbols maps the address of an instruction that makes SP unknowable to the
	// base that stands for the result, so that paths through the instruction agree.
	symbols map[uint64]Base
	// Sums are what symbols stand for. Nil: nobody asks. Who does executes each instruction once.
	Sums map[Base]Sum
	// frozen: no symbol and no table is added any more, so that goroutines may share both.
	frozen bool
}

// New returns an interpreter for the code of an image.
func New(c disasm.Code) Interp { return Interp{Code: c, clobbered: c.CallerSaved() &^ c.Arch.Globals} }

// Frozen returns the interpreter for replays of what m has executed. Replays find the
// symbols and tables of m, make no new ones, and may run in several goroutines.
func (m *Interp) Frozen() Interp {
	f := *m
	f.frozen, f.JumpTables.frozen = true, true
	return f
}

// maxSymbols bounds the symbols of an analysis: Base has eight bits.
const maxSymbols = 250

// symbol is the unknown that the instruction at pc makes, the same each time; unknown
// when there are too many.
func (m *Interp) symbol(pc uint64) Value {
	b, ok := m.symbols[pc]
	if !ok {
		n := int(firstSymbol) + len(m.symbols)
		if n > maxSymbols || m.frozen {
			return Value{}
		}
		if m.symbols == nil {
			m.symbols = map[uint64]Base{}
		}
		b = Base(n)
		m.symbols[pc] = b
	}
	return Value{Kind: StartRelative, Base: b}
}

// Named is the symbol that SP is called by behind the instruction at pc; false where that makes none.
func (m *Interp) Named(pc uint64) (Value, bool) {
	b, ok := m.symbols[pc]
	if !ok {
		return Value{}, false
	}
	return Value{Kind: StartRelative, Base: b}, true
}

// Exec applies the instruction at pc where that is no transfer of control; of a
// transfer it applies the register effects only. A conditional instruction may or may
// not happen: what holds in both cases remains.
func (m *Interp) Exec(s *State, in *cpu.Insn, pc uint64) {
	if in.Flags&cpu.FlagConditional != 0 && !jumps(in) {
		var skipped State
		skipped.CopyFrom(s)
		m.Effect(s, in, pc)
		s.Join(&skipped)
		return
	}
	m.Effect(s, in, pc)
}

func jumps(in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpJump, cpu.OpCall, cpu.OpReturn:
		return true
	}
	return false
}

// Effect applies an instruction that does happen.
func (m *Interp) Effect(s *State, in *cpu.Insn, pc uint64) {
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap, cpu.OpJump:
	case cpu.OpUnknown, cpu.OpClobber, cpu.OpSyscall:
		m.Clobber(s, in.List, pc)
	case cpu.OpMove:
		m.bring(s, in.Dst, s.Get(in.Src))
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		m.access(s, in, pc)
	case cpu.OpLeave:
		s.leave(m.Arch)
	case cpu.OpCall:
		m.call(s, in, pc)
	case cpu.OpReturn:
		if in.Imm != 0 && in.Src != cpu.NoReg {
			s.Set(m.Arch.SP, s.Get(m.Arch.SP).Plus(in.Imm), m.Arch)
		}
	case cpu.OpCompareImm:
		s.Limit, s.Slack = in.Imm+1, 1
		if in.Dst != cpu.NoReg {
			s.Limit, s.Slack = in.Imm, 0
			m.Assign(s, in.Dst, Value{}, pc)
		}
	default:
		v := m.computed(s, in)
		if m.Sums != nil && in.Dst == m.Arch.SP && v.Kind == Unknown {
			v = m.addUp(s, in, pc)
		}
		m.Assign(s, in.Dst, v, pc)
	}
}

// computed is the result of arithmetic.
func (m *Interp) computed(s *State, in *cpu.Insn) Value {
	switch in.Op {
	case cpu.OpConst:
		return Const(in.Imm)
	case cpu.OpInsert:
		return s.Get(in.Dst).Insert(in)
	case cpu.OpAddImm:
		return width(s.Get(in.Src).Plus(in.Imm), in, m.Arch)
	case cpu.OpAdd:
		return width(m.JumpTables.Sum(s.Get(in.Src), m.JumpTables.extended(s.Get(in.Src2), in), in.Scale), in, m.Arch)
	case cpu.OpAddLoad:
		return width(m.JumpTables.Sum(s.Get(in.Src), m.Loaded(s, s.Operand(in), in), 0), in, m.Arch)
	case cpu.OpSub:
		return width(s.Get(in.Src).minus(m.JumpTables.extended(s.Get(in.Src2), in), in.Scale), in, m.Arch)
	case cpu.OpOr:
		return or(s.Get(in.Src), s.Get(in.Src2))
	case cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm:
		return m.logic(s.Get(in.Src), in)
	}
	return Value{}
}

// Assign sets a register to a value that the instruction at pc computes. A stack
// pointer that becomes unknown by computation (alloca, alignment) gets a symbol, so
// that what is stored relative to SP can still be found.
func (m *Interp) Assign(s *State, r cpu.Reg, v Value, pc uint64) {
	if r == m.Arch.SP {
		if v.Kind == Unknown {
			v = m.symbol(pc)
		}
		s.moveSP(r, v)
		return
	}
	s.Set(r, v, m.Arch)
}

// bring sets a register to a value that was moved or loaded: a stack pointer that
// becomes unknown in this way is another stack's.
func (m *Interp) bring(s *State, r cpu.Reg, v Value) {
	if r == m.Arch.SP {
		if v.Kind == Unknown {
			v.Kind = OtherStack
		}
		s.moveSP(r, v)
		return
	}
	s.Set(r, v, m.Arch)
}

// Clobber makes registers unknown, by the instruction at pc.
func (m *Interp) Clobber(s *State, set cpu.RegSet, pc uint64) {
	for ; set != 0; set = set.Without(set.First()) {
		m.Assign(s, set.First(), Value{}, pc)
	}
}

// leave is x86's: SP = FP; FP = mem[SP]; SP += word.
func (s *State) leave(arch *cpu.Arch) {
	fp := s.Get(arch.FP)
	s.Set(arch.FP, s.Load(fp, uint8(arch.RegSize)), arch)
	if sp := fp.Plus(int64(arch.RegSize)); sp.Kind != Unknown {
		s.moveSP(arch.SP, sp)
	}
}

// call makes s the state behind a call that has returned: the ABI's clobbers are unknown. The
// idioms that read the PC (bal .+8, call +0) only write the link register or push.
func (m *Interp) call(s *State, in *cpu.Insn, pc uint64) {
	if in.Flags&cpu.FlagGetPC != 0 {
		m.readPC(s, in, pc)
		return
	}
	if in.Dst != cpu.NoReg && in.Dst != m.Arch.LR {
		s.Set(in.Dst, Value{}, m.Arch) // millicode: the analysis goes on in the helper
		return
	}
	m.passAddresses(s)
	s.Forget(m.clobbered)
	s.Limit = 0
}

// passAddresses makes the numbers unknown whose addresses are in registers that a call may
// read. gpg's main sets cmd to 0 and passes &cmd to what parses the options: a jump table whose
// index follows from cmd is not entered at cmd's 0 alone.
func (m *Interp) passAddresses(s *State) {
	for set := m.clobbered; set != 0; set = set.Without(set.First()) {
		r := set.First()
		a := s.Regs[r]
		if a.Kind != StartRelative || a == StartOf(r) {
			continue
		}
		for i := range s.Slots {
			if sl := &s.Slots[i]; sl.Val.Kind == Constant && sl.Off == a.Off && sl.Base == a.Base {
				sl.Val = Value{}
			}
		}
	}
}

// readPC executes a call to the next instruction.
func (m *Interp) readPC(s *State, in *cpu.Insn, pc uint64) {
	next := Const(int64(in.Target))
	if in.Dst != cpu.NoReg {
		m.Assign(s, in.Dst, next, pc)
		return
	}
	sp := s.Get(m.Arch.SP).Plus(-int64(m.Arch.RegSize))
	s.Store(sp, next, uint8(m.Arch.RegSize))
	m.Assign(s, m.Arch.SP, sp, pc)
}
