package rules

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
)

// The way of the MIPS ABI supplement to read a frame from code, which most embedded
// backtracers follow. It relies on rules for compilers that no compiler keeps any more:
// one allocation of the frame, in the first basic block, which also saves the registers;
// one return, behind which the next function begins.
//
//	        jr    ra            ◄─ a return: the function begins behind it
//	        lui   gp,…
//	        addiu sp,sp,-32     ◄─ scanning up from the PC: the frame
//	        sw    ra,28(sp)        the rest of this block saves registers
//	        bnez  a0,…
//	        …
//	pc ──►  lw    v0,0(a1)
//
// The ABI's way is the last answer, marked as a fallback, for places to which no other
// derivation applies: code that is entered in a way that nobody sees and never returns. It
// needs instructions of one size.

const (
	// abiSpan is how many instructions the scan goes up. Functions of more than 16 KiB
	// are rare, and most frames are met much earlier.
	abiSpan = 4096
	// abiBlock bounds the first basic block, which is looked at from its start.
	abiBlock = 256
)

// ABI answers for a point by the ABI's method: from the function's start if that is known,
// else from what the scan upwards finds.
func ABI(an *dataflow.Analysis, p Point, out *stackwalk.Rule) bool {
	s := newABIScan(an, p)
	if start, ok := s.knownEntry(); ok {
		return s.firstBlockRule(start, out)
	}
	return ABIScan(an, p, out)
}

// ABIScan answers from what the scan upwards finds, whatever else is known.
func ABIScan(an *dataflow.Analysis, p Point, out *stackwalk.Rule) bool {
	s := newABIScan(an, p)
	start, ok := s.up()
	return ok && s.firstBlockRule(start, out)
}

// ABIFrom answers from a function's start.
func ABIFrom(an *dataflow.Analysis, start uint64, p Point, out *stackwalk.Rule) bool {
	s := newABIScan(an, p)
	return s.size != 0 && s.firstBlockRule(start, out)
}

// abiScan looks for the function around a point.
type abiScan struct {
	an   *dataflow.Analysis
	at   Point
	size uint64 // of an instruction, 0 where sizes differ
}

func newABIScan(an *dataflow.Analysis, p Point) abiScan {
	return abiScan{an, p, an.InsnSize(p.Mode)}
}

// knownEntry is the certain entry of the function that holds the point; ok is false where no entry is
// certain.
func (s *abiScan) knownEntry() (start uint64, ok bool) {
	if s.size == 0 {
		return 0, false
	}
	for _, e := range s.an.Entries.Below(s.at.SiteAddr()) {
		if s.an.Function(disasm.Addr{PC: e, Mode: s.at.Mode}).Contains(s.at.Site) {
			return e, true
		}
	}
	return 0, false
}

// up looks up from the point for what the ABI says a function begins with: the block that
// allocates the frame, or else the instruction behind a return.
func (s *abiScan) up() (start uint64, ok bool) {
	if s.size == 0 {
		return 0, false
	}
	if start, ok := s.stub(); ok {
		return start, true
	}
	var in cpu.Insn
	at := s.at.SiteAddr()
	for range abiSpan {
		if at.PC -= s.size; !s.an.One(at, &in) {
			return 0, false
		}
		switch {
		case disasm.LowersSP(&in, s.an.Arch):
			return s.blockStart(at), true
		case in.Op == cpu.OpReturn && in.Flags&cpu.FlagConditional == 0:
			start = s.behind(at)
			return s.an.SkipPadding(disasm.Addr{PC: start, Mode: at.Mode}), start <= s.at.Site
		}
	}
	return 0, false
}

// stubInsns is how many instructions a PLT stub has at most.
const stubInsns = 6

// stub is the PLT stub that the point is in. Nothing returns in a PLT: further up stands the
// first entry, which pushes for the resolver (AArch64: stp x16,x30,[sp,#-16]!) what a stub
// never has on the stack.
func (s *abiScan) stub() (start uint64, ok bool) {
	at := s.at.SiteAddr()
	for range stubInsns {
		slot, _ := s.an.Callees.StubSlot(at)
		if _, ok := s.an.Img.Import(slot); ok {
			behind, _ := s.an.Callees.BehindStub(at)
			return at.PC, s.at.Exact && behind.PC > s.at.Site
		}
		at.PC -= s.size
	}
	return 0, false
}

// blockStart is the start of the basic block around an instruction: behind the last
// transfer above. The block may build the frame's size first.
func (s *abiScan) blockStart(at disasm.Addr) uint64 {
	var in cpu.Insn
	start := at
	for range abiBlock {
		if !s.an.One(disasm.Addr{PC: start.PC - s.size, Mode: at.Mode}, &in) {
			break
		}
		if disasm.Transfers(&in, s.an.Arch) {
			start.PC -= s.size
			return min(s.behind(start), at.PC)
		}
		start.PC -= s.size
	}
	return start.PC
}

// behind is the address behind a transfer and its delay slot.
func (s *abiScan) behind(transfer disasm.Addr) uint64 {
	var buf [2]cpu.Insn
	step, _ := disasm.StepAt(s.an.Code, transfer, &buf)
	return step.Next
}

// firstBlockRule runs the first basic block from start, as far as the block lies before the
// point, and takes its frame for the function's.
func (s *abiScan) firstBlockRule(start uint64, out *stackwalk.Rule) bool {
	m := absint.New(s.an.Code)
	var st absint.State
	st.Start(s.an.Arch)
	if !s.runFirstBlock(&m, start, &st) || !s.at.Exact {
		trustSlots(&st, s.an.Arch)
	}
	if !s.at.Exact {
		m.Clobber(&st, s.an.CallerSaved(), s.at.Site)
	}
	out.Reset()
	if !FromState(&st, s.an.Arch, out) {
		return false
	}
	out.Flags = stackwalk.Fallback
	return true
}

// runFirstBlock executes the block at start up to the point, which it reports, or to the
// block's end with the delay slot.
func (s *abiScan) runFirstBlock(m *absint.Interp, start uint64, st *absint.State) (within bool) {
	cur := disasm.NewCursor(s.an.Code)
	cur.Seek(disasm.Addr{PC: start, Mode: s.at.Mode})
	for pc, n := start, 0; n < abiBlock; n++ {
		if pc == s.at.Site {
			return true
		}
		in := cur.Next(pc)
		if in == nil {
			return false
		}
		if disasm.Transfers(in, s.an.Arch) {
			if step := cur.Step(in, pc); step.Slot != nil {
				m.Exec(st, step.Slot, pc+uint64(step.In.Len))
			}
			return false
		}
		m.Exec(st, in, pc)
		pc += uint64(in.Len)
	}
	return false
}

// trustSlots forgets the registers that were saved: what became of them behind the first
// block is not known, but their slots last as long as the frame.
func trustSlots(st *absint.State, arch *cpu.Arch) {
	for set := arch.Preserved.With(arch.LR); set != 0; set = set.Without(set.First()) {
		r := set.First()
		if st.Regs[r].IsStartOf(r) && st.Holds(absint.StartOf(r)) {
			st.Regs[r] = absint.Value{}
		}
	}
}
