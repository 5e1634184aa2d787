package discover

import (
	"math/bits"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// maxVisited bounds the instructions of a sweep.
const maxVisited = 8 << 20

// sweep disassembles by recursive descent: it follows control flow through an image once,
// and notes where calls go and which constants look like pointers to code.
type sweep struct {
	disasm.Code
	todo    worklist
	seen    *disasm.Set
	left    int // instructions
	regs    tracker
	pending cpu.RegSet // registers that hold literals of which it is not known what they are
	bounds  keys       // certain entries, once they are known
	cursor  disasm.Cursor
	watch   stepping.Watch // tells what the cursor skips

	calls    *disasm.Set // targets of direct calls
	pointers *disasm.Set // addresses taken
	built    *disasm.Set // those that code builds
	jumps    jumps       // direct ones: the unconditional ones, and those that go far
	literals *disasm.Set // words of the text that code reads; nil if none
	ends     *disasm.Set // places behind code that does not go on there; nil: nobody asks for landing pads
}

// newSweep returns a sweep through a range that knows gp and the certain entries as far as they are
// given.
func newSweep(code disasm.Code, gp *constants, bounds keys, in span) *sweep {
	set := func() *disasm.Set { return disasm.NewSetIn(code, in.lo, in.hi) }
	return &sweep{Code: code, cursor: disasm.NewCursor(code), watch: stepping.Watch{Stack: cpu.NoReg, Constants: true},
		seen: set(), left: maxVisited, regs: newTracker(code, gp), bounds: bounds,
		calls: set(), pointers: set(), built: set(), todo: worklist{max: placesFor(code)}, jumps: newJumps(code)}
}

// push makes a place one to go on from. What is carried there is what the registers hold
// now, unless a function begins there.
func (s *sweep) push(at disasm.Addr, entry bool) {
	if s.seen.Has(at) {
		return
	}
	if entry {
		s.todo.push(at, true, handed{})
	} else {
		s.todo.push(at, false, s.hand())
	}
}

// hand are the constants that go on to the target of a jump; what holds everywhere needs no
// handing on. GCC for i386 keeps the address of the GOT in a register that calls change, too, in functions that
// call nobody: libgfortran's matmul functions build the addresses of their variants so, behind branches.
func (s *sweep) hand() (h handed) {
	set := s.Arch.Preserved & s.regs.now.known
	n := s.handSome(&h, 0, set)
	if s.Arch.PCThunk {
		s.handSome(&h, n, s.regs.now.known&^set)
	}
	return h
}

// handSome hands on what some registers hold, behind n constants, and returns how many there are then.
func (s *sweep) handSome(h *handed, n int, set cpu.RegSet) int {
	for ; set != 0 && n < len(h); set = set.Without(set.First()) {
		r := set.First()
		v := s.regs.now.value[r]
		if gp, ok := s.regs.gp.get(r); ok && gp == v {
			continue
		}
		h[n] = constantIn{r, v, true}
		n++
	}
	return n
}

// run goes on from all places until there are no more.
func (s *sweep) run() {
	for len(s.todo.places) > 0 && s.left > 0 {
		key, entry, constants := s.todo.pop()
		s.pending = 0
		s.regs.begin()
		for _, c := range constants {
			if c.is {
				s.regs.now.set(c.reg, c.value)
			}
		}
		if entry {
			s.regs.now.setAll(s.Arch.SelfRegs, absint.Signed(key, s.Arch))
		}
		s.follow(s.Addr(key))
		s.flush(s.pending)
	}
}

// follow walks straight on until control never goes on or meets code that was seen.
func (s *sweep) follow(at disasm.Addr) {
	for s.cursor.Seek(at); ; {
		in := s.fetch(&at)
		if in == nil || s.left <= 0 || isLiteral(s.literals, at) || !s.seen.Add(at) {
			return
		}
		s.left--
		if in.Op == cpu.OpUnknown && s.Arch.ISABit {
			return // perhaps no code, or of the other mode
		}
		s.visit(in, at.PC)
		if !in.Ends(s.Arch.PC) {
			at.PC += uint64(in.Len)
			continue
		}
		step := s.cursor.Step(in, at.PC)
		if step.Slot != nil {
			s.note(step.Slot)
		}
		if at.PC = step.Next; s.ends != nil {
			s.ends.Add(at)
		}
		return
	}
}

// fetch goes behind the instructions that neither transfer control nor build addresses, up to code that was seen, and is the
// next one, nil where there is none. Where there are literals, all are looked at.
func (s *sweep) fetch(at *disasm.Addr) *cpu.Insn {
	if s.literals != nil || s.pending != 0 {
		return s.cursor.Next(at.PC)
	}
	s.watch.Held, s.watch.Unused = (s.regs.now.known | s.Arch.Globals).With(s.Arch.PC), s.regs.now.known
	for s.left > 0 {
		starts, n, in := s.cursor.Skip(at.PC, s.seen.Ahead(*at), &s.watch)
		s.seen.AddAll(*at, starts)
		s.left -= bits.OnesCount64(starts)
		at.PC += uint64(n)
		if in != nil || n == 0 {
			return in
		}
	}
	return nil
}

// visit looks at the instruction at pc.
func (s *sweep) visit(in *cpu.Insn, pc uint64) {
	s.note(in)
	if in.Op == cpu.OpCall && s.Arch.PCThunk && in.Target != 0 {
		s.regs.readPC(in, pc)
	}
	if in.Target != 0 && in.Flags&(cpu.FlagGetPC|cpu.FlagTable|cpu.FlagMemory) == 0 {
		s.branch(in, pc)
	}
}

// branch notes where a direct transfer goes.
func (s *sweep) branch(in *cpu.Insn, pc uint64) {
	to := disasm.Target(in)
	switch in.Op {
	case cpu.OpCall:
		if s.Has(to.PC) && !disasm.WithinThunk(s.Code, pc, to) {
			s.calls.Add(to)
			s.push(to, true)
		}
	case cpu.OpJump:
		s.push(to, false)
		if in.Flags&cpu.FlagConditional == 0 || s.far(pc, to.PC) {
			s.jumps.add(jump{pc, to.Key()})
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
		s.pointers.Add(at)
		s.built.Add(at)
		s.push(at, true)
	}
}

// from goes on from functions that begin at these places, the last first.
func (s *sweep) from(list keys) {
	for _, key := range slices.Backward(list) {
		s.push(s.Addr(key), true)
		s.run()
	}
}

// fromPointers goes on from every address of code that data holds (tables of functions, GOTs,
// init_array), then from the entries, then from what words in the text point to. Words that are known to
// be literals by then do not count.
func (s *sweep) fromPointers(entries keys) {
	s.from(s.pointedTo(false))
	s.from(entries)
	s.from(s.pointedTo(true))
}

// pointedTo notes what words of data, or of the text, point to.
func (s *sweep) pointedTo(inText bool) keys {
	list := pointers(s.Code, inText, s.literals)
	for _, key := range list {
		s.pointers.Add(s.Addr(key))
	}
	return list
}
