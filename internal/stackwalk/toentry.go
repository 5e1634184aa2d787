package stackwalk

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// A report may print the beginning of the stack only: 40 words on MIPS. Where the registers of user space lie is known
// all the same, at the end of the stack (target.Thread.Entered), and code tells how many bytes each function keeps
// there. So the frames between are known as far as all chains of calls agree that take exactly the bytes between:
//
//	crashy_write    CFA 0x817e7e40, the last frame whose registers are known
//	proc_reg_write   40 bytes      reads crashy_write in the table that the module hands to proc_create
//	vfs_write       136 bytes      reads proc_reg_write in the table that proc_get_inode makes an inode's
//	ksys_write       56 bytes      calls vfs_write; sys_write jumps there, which the table of system calls has
//	                0x817e7f28, where the kernel's entry code put the registers of user space
//
// Calls through tables are found as far as code shows who stores the table's address where; others may exist. So the
// frames are guesses. Of chains that fit the ones with the fewest frames are taken, and those with one frame more must
// agree: where the true chain is not found, long ones that fit by chance are seldom alone. Of mid_a, beyond 8 words of
// a stack of Linux 6.12, nobody found crashy_write's chain, but tmr_fn ◄ __rq_qos_issue ◄ … ◄ sys_umount, and others.
//
// The capture may list frames on the way whose place on the stack nobody knows: marks. A warning under Linux's function graph
// tracer has a list that says nothing, but its first line names the place that raised it, warn_c:
//
//	show_stack      CFA 0x9000000003883c10
//	dump_stack_lvl  32 bytes, __warn 64, warn_slowpath_fmt 144    the fewest frames that lead to the mark
//	warn_c          16 bytes       the mark
//	warn_b          16 bytes, warn_a 16, crashy_write 112, proc_reg_write 48, vfs_write 160
//	ksys_write      64 bytes       and so has ksys_pwrite64, which may have called vfs_write as well
//	                0x9000000003883eb0
//
// Where chains that fit differ in their last frame alone, some system call was running, and the frame is that of the one
// with the lowest number: those are the oldest, which programs use the most. Such a frame has the check several-fit.
const (
	maxToEntry   = 8   // frames
	entryTryCost = 256 // what each call costs that is looked at, in instructions that code analysis executes
)

// entrySearch looks for chains of calls that lead from the entry of the kernel to a frame.
type entrySearch struct {
	*finder
	entered uint64
	longest int  // the most frames of a chain that is looked for, from a mark on
	starved bool // not all calls were looked at
	mark    *target.Listed
	reached []onTheWay // the mark
	root    bool       // the entry called the last mark
	found   bool
	chain   []entryFrame // the frames, from the innermost on, that all chains have that were found
	last    lastFrames
	calls   map[uint64]Calls  // to frames, by their call sites
	sizes   map[uint64]uint64 // of frames, by their PC
}

// lastFrames are the last frames of chains that are alike but for those, and as long as one another.
type lastFrames struct {
	length int  // of the chains
	parted bool // there are others
	n      int  // how many functions' they are
	best   entryFrame
	system int // of best
}

// add takes the last frame of a chain that has the same frames as the others up to there.
func (l *lastFrames) add(f *entryFrame, system int) {
	if l.n++; l.n == 1 || uint(system) < uint(l.system) { // −1 is more than any number
		l.best, l.system = *f, system
	}
}

// entryFrame is a frame of such a chain, and the caller of that frame as far as the frame's rule tells.
type entryFrame struct {
	candidate
	cfa uint64
}

// onTheWay is a frame to go on from, whose caller is lost but for the PC.
type onTheWay struct {
	State
	lost candidate
	way  []entryFrame // from the last known frame on, up to this one
	mark int          // how many of them lead to the last mark
}

// toEntry are the frames between the last frame s, which the walk could not leave, and the entry of the kernel, as far as
// all chains of calls that fit have the same. cfa is that of the last frame. Chains have all marks; root: the entry
// called the last of them.
func (f *finder) toEntry(s *State, marks []target.Listed, root bool) (frames []unwind.Frame, cfa uint64) {
	t := s.Thread
	r := f.find(s)
	if !r.lost || r.hooked || r.best.valid || f.verifier.graph == nil || s.Module == nil || f.lost.CFA >= t.Entered {
		return nil, 0
	}
	e := entrySearch{finder: f, entered: t.Entered, root: root, calls: map[uint64]Calls{}, sizes: map[uint64]uint64{}}
	first := onTheWay{State: *s, lost: f.lost}
	before := f.account.cost
	e.run(first, marks)
	spent := f.account.cost - before
	f.account.cost = before
	f.account.pay(placeOf(s.PC, s.Mode, s.Exact), spent)
	if e.starved || f.noEdgesLeft() {
		return nil, 0
	}
	for i := range e.chain {
		frames = append(frames, e.chain[i].asGuess(unwind.OnlyCaller))
	}
	if l := &e.last; e.found && !l.parted && l.n > 1 && l.system >= 0 {
		frames = append(frames, l.best.asGuess(unwind.SeveralFit))
	}
	return frames, first.lost.CFA
}

// asGuess is the frame of a chain that fits.
func (f *entryFrame) asGuess(check unwind.Checks) unwind.Frame {
	out := f.frame()
	out.CFA, out.HasCFA = f.cfa, true
	SetChecks(&out, out.Checks|check|unwind.Disputed)
	LimitTrust(&out, unwind.Guess, unwind.CapSeveralFit)
	return out
}

// run looks for chains from a frame on that go by way of the marks.
func (e *entrySearch) run(first onTheWay, marks []target.Listed) {
	e.reached = []onTheWay{first}
	for i := range marks {
		starts := e.reached
		e.mark, e.reached = &marks[i], nil
		for e.longest = 1; e.longest <= maxToEntry && len(e.reached) == 0 && !e.starved; e.longest++ {
			e.fromAll(starts)
		}
		for k := range e.reached {
			e.reached[k].mark = len(e.reached[k].way)
		}
	}
	e.mark = nil
	for i := range e.reached {
		e.end(&e.reached[i])
	}
	if e.found && e.root {
		return
	}
	for e.longest = 1; e.longest <= maxToEntry && !e.found && !e.starved; e.longest++ {
		e.fromAll(e.reached)
	}
	if e.found { // with one frame more, which longest is by now
		e.fromAll(e.reached)
	}
}

func (e *entrySearch) fromAll(starts []onTheWay) {
	for i := range starts {
		e.from(&starts[i])
	}
}

// from goes on from a frame.
func (e *entrySearch) from(at *onTheWay) {
	last := len(at.way)-at.mark+1 == e.longest
	callers := e.callersOf(&at.State, &at.lost, true)
	for _, ra := range e.returns(at, &callers, last) {
		if e.starved = e.noEdgesLeft() || e.account.exhausted(); e.starved {
			return
		}
		next, ok := e.step(at, &callers, ra)
		switch {
		case !ok:
		case e.mark != nil && ra == e.mark.PC:
			e.reach(&next)
		case next.lost.CFA == e.entered && e.mark == nil:
			e.end(&next)
		case next.lost.CFA < e.entered && !last:
			e.from(&next)
		}
	}
}

// reach notes a way to the mark. Of the ways through the same functions to the same place one is enough: the registers
// are those that they agree on.
func (e *entrySearch) reach(at *onTheWay) {
	for i := range e.reached {
		r := &e.reached[i]
		if r.lost.CFA != at.lost.CFA || !slices.EqualFunc(r.way, at.way, func(a, b entryFrame) bool { return e.sameFunction(&a, &b) }) {
			continue
		}
		r.lost.Regs.Known = agreed(&r.lost.Regs, &at.lost.Regs)
		r.Regs.Known = agreed(r.Regs, at.Regs)
		if !slices.Equal(r.arguments, at.arguments) {
			r.arguments = nil
		}
		return
	}
	if len(e.reached) < maxReached {
		e.reached = append(e.reached, *at)
	}
	e.starved = e.starved || len(e.reached) == maxReached
}

// maxReached bounds the ways to a mark, by different functions or to different places.
const maxReached = 16

// agreed are the registers that two sets have the same values of.
func agreed(a, b *cpu.Registers) (same cpu.RegSet) {
	for set := a.Known & b.Known; set != 0; set = set.Without(set.First()) {
		if r := set.First(); a.Val[r] == b.Val[r] {
			same |= 1 << r
		}
	}
	return same
}

// step is the frame that a call returns to at ra, as the caller of a frame.
func (e *entrySearch) step(at *onTheWay, callers *lostCallers, ra uint64) (next onTheWay, ok bool) {
	if size, known := e.sizes[ra]; known && at.lost.CFA+size > e.entered || met(at.way, ra) {
		return next, false
	}
	c, fits := callers.returningTo(ra)
	if fits == No {
		return next, false
	}
	e.account.cost += entryTryCost
	r := e.searchFrom(&at.State, &c)
	lost := e.ahead.finder.lost
	if !r.lost || r.best.valid || lost.CFA <= c.CFA {
		e.sizes[ra] = e.entered
		return next, false
	}
	if e.sizes[ra] = lost.CFA - c.CFA; lost.CFA > e.entered {
		return next, false
	}
	next = onTheWay{State: e.ahead.frame, lost: lost, way: append(slices.Clip(at.way), entryFrame{c, lost.CFA}), mark: at.mark}
	regs := *next.Regs
	next.Regs = &regs
	return next, true
}

// end takes the chain to a frame that the kernel's entry may have called.
func (e *entrySearch) end(at *onTheWay) {
	if at.lost.CFA != e.entered || !e.fromUser(&at.State, &at.lost) {
		return
	}
	system := e.callsTo(&at.State).System
	if e.root && len(at.way) == at.mark && at.mark > 0 || system >= 0 {
		e.add(at.way, system)
	}
}

// returns are where the calls return to that may have led to a frame: that of the mark alone, if that leads there, or if
// the capture lists it right behind and nothing contradicts that. last: no frame may lie between.
func (e *entrySearch) returns(at *onTheWay, callers *lostCallers, last bool) []uint64 {
	if e.mark == nil {
		return e.callsTo(&at.State).Returns
	}
	c, fits := callers.returningTo(e.mark.PC)
	if fits != No && (c.checks.Has(unwind.TargetMatches) || !e.mark.Gap && len(at.way) == at.mark) {
		return []uint64{e.mark.PC}
	}
	returns := e.callsTo(&at.State).Returns
	switch {
	case fits != No && slices.Contains(returns, e.mark.PC):
		return []uint64{e.mark.PC}
	case last:
		return nil
	}
	return returns
}

// callsTo are the calls that may have led to the function of a frame.
func (e *entrySearch) callsTo(s *State) Calls {
	c, known := e.calls[s.Site]
	if !known {
		c = e.verifier.graph.Callers(s.Snapshot, s.Module, s.Site, s.Mode)
		e.calls[s.Site] = c
	}
	return c
}

// add takes a chain that fits, to a system call of that number. Of a function's calls more than one may lead on.
func (e *entrySearch) add(chain []entryFrame, system int) {
	end := len(chain) - 1
	if !e.found {
		e.found, e.chain, e.last.length = true, chain, len(chain)
		if end >= 0 {
			e.last.add(&chain[end], system)
		}
		return
	}
	same := 0
	for same < min(len(chain), len(e.chain)) && e.sameFunction(&chain[same], &e.chain[same]) {
		same++
	}
	switch {
	case same == len(chain) && same == len(e.chain): // the same
	case len(chain) == e.last.length && same == end && len(e.chain) >= end:
		e.last.add(&chain[end], system)
	default:
		e.last.parted = true
	}
	e.chain = e.chain[:same]
}

func (e *entrySearch) sameFunction(a, b *entryFrame) bool {
	return a.module == b.module && (a.pc == b.pc || e.verifier.graph.OneFunction(a.module, a.site, b.site, a.mode) == Yes)
}

// met tells whether a frame has a PC already.
func met(way []entryFrame, pc uint64) bool {
	return slices.ContainsFunc(way, func(f entryFrame) bool { return f.pc == pc })
}

// fromUser tells whether the registers that a caller is given back may be those of user space, which have no address
// of the kernel. Entry code sets gp, which MIPS' kernel has for its own.
func (e *entrySearch) fromUser(s *State, c *candidate) bool {
	arch := s.Snapshot.Arch
	for set := c.Regs.Known & preserved(arch) &^ arch.Globals; set != 0; set = set.Without(set.First()) {
		if v := c.Regs.Val[set.First()]; oneHalf(arch, v, e.entered) && -v&arch.AddrMask() > 1<<16 {
			return false
		}
	}
	return true
}
