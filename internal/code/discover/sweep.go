package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxVisited bounds the instructions of a sweep.
const maxVisited = 8 << 20

// sweep disassembles by recursive descent: it follows control flow through an image once,
// and notes where calls go and which constants look like pointers to code.
type sweep struct {
	disasm.Code
	todo    []stop
	seen    *disasm.Set
	left    int // instructions
	regs    tracker
	pending cpu.RegSet // registers that hold literals of which it is not known what they are
	bounds  keys       // certain entries, once they are known
	insns   [32]cpu.Insn

	calls    []uint64      // keys of targets of direct calls
	pointers []uint64      // keys of addresses taken
	jumps    []cpu.CallRef // direct jumps: the unconditional ones, and those that go far
	literals *disasm.Set   // words of the text that code reads; nil if none
}

// stop is a place to go on from.
type stop struct {
	at    disasm.Addr
	entry bool // a function begins there
	// carried are constants in preserved registers at the jump that leads there.
	// MIPS16 code, which cannot address by gp, copies gp to s0 or s1 at its
	// beginning and reads the GOT through that register in every block.
	carried [2]carried
}

// carried is a register and its constant; no register is no constant.
type carried struct {
	reg   cpu.Reg
	value int64
}

// newSweep returns a sweep that knows gp and the certain entries as far as they are given.
func newSweep(code disasm.Code, gp *constants, bounds keys) *sweep {
	return &sweep{Code: code, seen: disasm.NewSet(code), left: maxVisited, regs: newTracker(code, gp), bounds: bounds}
}

// push makes a place one to go on from. What is carried there is what the registers hold
// now, unless a function begins there.
func (s *sweep) push(at disasm.Addr, entry bool) {
	if s.seen.Has(at) {
		return
	}
	next := stop{at: at, entry: entry}
	for i := range next.carried {
		next.carried[i].reg = cpu.NoReg
	}
	if !entry {
		s.carry(&next)
	}
	s.todo = append(s.todo, next)
}

// carry hands constants on to the target of a jump; what holds everywhere needs no hand.
func (s *sweep) carry(to *stop) {
	n := 0
	for set := s.Arch.Preserved & s.regs.now.known; set != 0 && n < len(to.carried); set = set.Without(set.First()) {
		r := set.First()
		v := s.regs.now.value[r]
		if gp, ok := s.regs.gp.get(r); ok && gp == v {
			continue
		}
		to.carried[n] = carried{r, v}
		n++
	}
}

// run goes on from all places until there are no more.
func (s *sweep) run() {
	for len(s.todo) > 0 && s.left > 0 {
		from := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		s.pending = 0
		s.regs.begin()
		for _, c := range from.carried {
			s.regs.now.set(c.reg, c.value)
		}
		if from.entry {
			s.regs.now.setAll(s.Arch.SelfRegs, absint.Signed(from.at.Key(), s.Arch))
		}
		s.follow(from.at)
		s.flush(s.pending)
	}
}

// follow walks straight on until control never goes on or meets code that was seen.
func (s *sweep) follow(at disasm.Addr) {
	for {
		n := s.Decode(at, s.insns[:])
		if n == 0 {
			return
		}
		for i := range n {
			if s.left <= 0 || !s.seen.Add(at) {
				return
			}
			s.left--
			in := &s.insns[i]
			if in.Op == cpu.OpUnknown && s.Arch.ISABit {
				return // perhaps no code, or of the other mode
			}
			s.visit(in, at.PC)
			at.PC += uint64(in.Len)
			if !in.Ends(s.Arch.PC) {
				continue
			}
			if in.Flags&cpu.FlagDelaySlot != 0 && i+1 < n {
				s.note(&s.insns[i+1])
			}
			return
		}
	}
}

// visit looks at the instruction at pc.
func (s *sweep) visit(in *cpu.Insn, pc uint64) {
	s.note(in)
	if in.Op == cpu.OpCall && s.Arch.PCThunk && in.Target != 0 {
		s.readPC(in, pc)
	}
	if in.Target != 0 && in.Flags&(cpu.FlagGetPC|cpu.FlagTable|cpu.FlagMemory) == 0 {
		s.branch(in, pc)
	}
}

// readPC notes what i386's way to read the PC leaves, on which position-independent code
// builds all addresses: call __x86.get_pc_thunk.bx; add $GOT,%ebx; lea f@GOTOFF(%ebx).
func (s *sweep) readPC(in *cpu.Insn, pc uint64) {
	if r, ok := disasm.PCThunk(s.Code, disasm.Target(in)); ok {
		s.regs.now.set(r, absint.Signed(pc+uint64(in.Len), s.Arch))
	}
}

// branch notes where a direct transfer goes.
func (s *sweep) branch(in *cpu.Insn, pc uint64) {
	to := disasm.Target(in)
	switch in.Op {
	case cpu.OpCall:
		if s.Has(to.PC) {
			s.calls = append(s.calls, to.Key())
			s.push(to, true)
		}
	case cpu.OpJump:
		s.push(to, false)
		if in.Flags&cpu.FlagConditional == 0 || s.far(pc, to.PC) {
			s.jumps = append(s.jumps, cpu.CallRef{Site: pc, Target: to.PC, TargetMode: to.Mode})
		}
	}
}

// nearBytes is how far a jump may go without being far: no function lies between.
const nearBytes = 64

// far tells whether a certain entry is known to lie between two places.
func (s *sweep) far(a, b uint64) bool {
	lo, hi := min(a, b), max(a, b)
	return hi-lo > nearBytes && len(s.bounds) > 0 && s.bounds.next(s.Code, lo, b) <= hi
}

// note follows constants, to see addresses that are built.
func (s *sweep) note(in *cpu.Insn) {
	if s.pending != 0 {
		s.spend(in)
	}
	v, built := s.regs.step(in)
	switch {
	case !built:
	case disasm.IsLiteral(in):
		s.literal(in)
	default:
		s.pointer(uint64(v) & s.Arch.AddrMask())
	}
}

// pointer notes an address that is taken, if code stands there.
func (s *sweep) pointer(p uint64) {
	if at, ok := pointedTo(s.Code, p); ok {
		s.pointers = append(s.pointers, at.Key())
		s.push(at, true)
	}
}

// fromPointers goes on from every address of code that data holds: tables of functions,
// GOTs, init_array. Words in the text count where they are not known to be literals by
// then.
func (s *sweep) fromPointers() {
	for _, inText := range []bool{false, true} {
		for _, key := range pointers(s.Code, inText, s.literals) {
			s.pointers = append(s.pointers, key)
			s.push(s.Addr(key), true)
		}
		s.run()
	}
}
