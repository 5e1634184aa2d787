package code

import (
	"sort"

	"github.com/backsight/backsight/cpu"
)

// Budgets make the analysis of one function linear and safe on hostile code.
const (
	maxBlocks   = 4096
	maxSteps    = 60000 // instructions executed, repeated visits counted
	maxRestarts = 6
)

// edge says how control comes to a block, from the most to the least believable.
type edge uint8

const (
	edgeEntry edge = iota
	edgeJump       // a jump or branch, or plain falling through
	edgeCall       // falling through a call, which may never return
	edgeTable      // an element of a jump table
	edgeLoose      // the same, where the table's size is guessed
	edgeGap        // code that nothing known jumps to, behind an unresolved jump
)

// block is a run of instructions entered at its start only.
type block struct {
	start, end uint64
	mode       cpu.Mode
	via        edge
	afterCall  uint64 // site of the call that falls through into it, if any
	queued     bool
	in         state
}

// function is the control flow from one entry with the state at each block:
// what is true at every instruction that can run as part of a call to entry.
type function struct {
	machine
	an        *analysis
	entry     uint64
	entryMode cpu.Mode

	blocks []*block // sorted by start
	queue  []*block
	steps  int

	// complete: every path was followed to its end.
	complete bool
	// returns: some path returns to the caller. balanced: one of them does so by a
	// return instruction with SP and RA as on entry.
	returns, balanced bool
	// popped is what the callee removes from the stack as it returns (x86 ret n).
	popped int64
	tails  []jump           // jumps to other functions with the frame gone
	calls  map[uint64]value // targets of indirect calls, where known
	dead   map[uint64]bool  // sites of calls that never return
	open   []*openJump      // unresolved jumps within the function
	labels []uint64         // places that computed gotos may lead to
	gotos  int              // computed gotos
	gaps   int              // places tried for those
	gapAt  uint64           // where to look for the next
	again  bool
	// unbalanced: a path returns with SP elsewhere than on entry, so entry is not
	// where the function begins (or a path does not exist).
	unbalanced bool
	// presumes: it uses a preserved register that it did not set, as no function
	// does at its beginning: entry is a label or a landing pad.
	presumes bool
	// pad: it does so at once, before anything is decided: a landing pad.
	pad bool
	// saves: it saves the return address, as functions do that call others.
	saves bool
	// clearsRA: it begins by clearing the return address, as the outermost
	// functions of threads do.
	clearsRA bool
	// behindCalls is what holds behind every call.
	behindCalls *state
	data        map[uint64]uint64 // sizes of literals and jump tables among the code, by address
	extra       *openJump         // a further way in, at extraAt
	extraAt     uint64

	doubt edge       // how control came to the block that is visited, where that is a guess
	work  *workspace // while running
}

// workspace is scratch memory of an analysis.
type workspace struct {
	st    state
	taken state // where a run of conditional instructions is executed
	insns [32]cpu.Insn
}

// jump is a place to go.
type jump struct {
	to   uint64
	mode cpu.Mode
}

// analyze follows the code from entry.
func analyze(an *analysis, entry uint64, mode cpu.Mode) *function {
	return analyzeFrom(an, entry, mode, nil, 0)
}

// analyzeFrom does so with a further way in at another place.
func analyzeFrom(an *analysis, entry uint64, mode cpu.Mode, extra *openJump, at uint64) *function {
	f := &function{an: an, entry: entry, entryMode: mode, machine: newMachine(an.img), extra: extra, extraAt: at}
	f.dead, f.data = map[uint64]bool{}, map[uint64]uint64{}
	f.work = new(workspace)
	defer func() { f.work, f.queue = nil, nil }()
	for range maxRestarts {
		f.run()
		if !f.again {
			break
		}
	}
	return f
}

// run does one pass to the fixpoint. A contradiction about SP marks a call as one
// that never returns and asks for another pass.
func (f *function) run() {
	f.blocks, f.queue, f.tails, f.open, f.labels, f.calls = nil, nil, nil, nil, nil, map[uint64]value{}
	f.complete, f.returns, f.balanced, f.unbalanced, f.again = true, false, false, false, false
	f.popped, f.steps, f.gotos, f.gaps, f.gapAt = 0, 0, 0, 0, 0
	f.presumes, f.pad, f.saves, f.clearsRA, f.behindCalls = false, false, false, false, nil
	var st state
	st.reset(f.arch)
	for s := f.arch.SelfRegs; s != 0; s = s.Without(s.First()) {
		st.set(s.First(), constant(signed(key(f.entry, f.entryMode), f.arch)), f.arch)
	}
	f.flow(jump{f.entry, f.entryMode}, &st, edgeEntry, 0)
	f.drain()
	f.meetsData()
	if f.extra != nil && !f.again {
		f.flow(jump{f.extraAt, f.extra.mode}, &f.extra.st, edgeGap, 0)
		f.drain()
	}
	for !f.again && f.fillGaps() {
		f.drain()
	}
}

// signed is an address as a register holds it: sign-extended from 32 bits.
func signed(a uint64, arch *cpu.Arch) int64 {
	if arch.AddrSize == 4 {
		return int64(int32(a))
	}
	return int64(a)
}

func (f *function) drain() {
	for len(f.queue) > 0 && !f.again {
		// Believable edges first, so that what a doubtful path says meets an
		// established state and not the reverse.
		best := 0
		for i := range f.queue {
			if f.queue[i].via < f.queue[best].via {
				best = i
			}
		}
		b := f.queue[best]
		f.queue[best] = f.queue[len(f.queue)-1]
		f.queue = f.queue[:len(f.queue)-1]
		b.queued = false
		if f.doubt = b.via; f.doubt < edgeLoose {
			f.doubt = edgeEntry
		}
		f.visit(b)
		f.doubt = edgeEntry
		if f.steps > maxSteps || len(f.blocks) > maxBlocks {
			f.complete = false
			return
		}
	}
}

// at returns the block that holds pc and its index, or where it would be
// inserted.
func (f *function) at(pc uint64) (*block, int) {
	i := sort.Search(len(f.blocks), func(i int) bool { return f.blocks[i].start > pc })
	if i > 0 && (pc < f.blocks[i-1].end || pc == f.blocks[i-1].start) {
		return f.blocks[i-1], i - 1
	}
	return nil, i
}

// flow brings a state to a place. What a guess leads to is a guess, however control
// goes on from there.
func (f *function) flow(j jump, st *state, how edge, site uint64) {
	how = max(how, f.doubt)
	b, i := f.at(j.to)
	if b != nil && b.start == j.to {
		f.meet(b, st, how, site)
		return
	}
	if f.img.Code(j.to) == nil {
		f.complete = false
		return
	}
	n := &block{start: j.to, end: j.to, mode: j.mode, via: how}
	if how == edgeCall {
		n.afterCall = site
	}
	n.in.copyFrom(st)
	if b != nil { // splits b, which now falls into n
		n.end, b.end = b.end, j.to
		f.enqueue(b)
		i++
	}
	f.blocks = append(f.blocks, nil)
	copy(f.blocks[i+1:], f.blocks[i:])
	f.blocks[i] = n
	f.enqueue(n)
}

func (f *function) enqueue(b *block) {
	if !b.queued {
		b.queued = true
		f.queue = append(f.queue, b)
	}
}

// meet joins a state into a block that was reached before. Compilers keep SP the
// same on all paths to a place; where two paths differ, one of them does not
// exist: the one that falls through a call that never returns, or that a guessed
// table or gap led to.
func (f *function) meet(b *block, st *state, how edge, site uint64) {
	sp, own := st.regs[f.arch.SP], b.in.regs[f.arch.SP]
	if sp != own && (b.start == f.entry || how > edgeCall) {
		return // nothing but the function's own calls comes to its entry with a frame
	}
	if f.conflict(&b.in, st) {
		switch {
		case how == edgeCall:
			f.dead[site] = true
			return
		case b.afterCall != 0:
			f.dead[b.afterCall], f.again = true, true
			return
		case b.via > edgeCall:
			f.replace(b, st, how)
			return
		}
	}
	if how == edgeCall && b.afterCall == 0 {
		b.afterCall = site
	}
	b.via = min(b.via, how)
	if b.in.join(st) {
		f.enqueue(b)
	}
}

func (f *function) replace(b *block, st *state, how edge) {
	b.in.copyFrom(st)
	b.via = how
	f.enqueue(b)
}

func (f *function) conflict(a, b *state) bool {
	x, y := a.regs[f.arch.SP], b.regs[f.arch.SP]
	return x.kind == addr && y.kind == addr && x.base == y.base && x.off != y.off
}

// visit executes a block from its in-state to its transfer, or into the block
// that follows it.
func (f *function) visit(b *block) {
	st := &f.work.st
	st.copyFrom(&b.in)
	limit := f.nextStart(b)
	linked := b.via == edgeCall // LR holds what the call before put there
	buf := &f.work.insns
	for pc := b.start; ; {
		n := f.decode(pc, b.mode, buf[:])
		if n == 0 {
			b.end, f.complete = max(b.end, pc), false
			return
		}
	insns:
		for i := 0; i < n; i++ {
			in := &buf[i]
			if pc != b.start && pc >= limit {
				b.end = pc
				f.flow(jump{pc, b.mode}, st, edgeJump, 0)
				return
			}
			next := pc + uint64(in.Len)
			if f.steps++; f.steps > maxSteps {
				f.complete = false
				return
			}
			if linked && f.savesLink(in) && f.beganBefore(&b.in) {
				f.dead[b.afterCall], f.again = true, true
				return
			}
			linked = linked && !f.writesLink(in)
			f.look(b, st, in)
			if j := f.conditionalRun(buf[:n], i); j > 0 {
				taken := &f.work.taken
				taken.copyFrom(st)
				for ; i < j; i++ {
					f.effect(taken, &buf[i], pc)
					pc += uint64(buf[i].Len)
				}
				b.end = pc + uint64(buf[j].Len)
				f.untaken(st, taken)
				f.transfer(b, st, taken, &buf[j], nil, pc, b.end)
				return
			}
			if !f.transfers(in) {
				f.exec(st, in, pc)
				pc = next
				continue
			}
			slot := (*cpu.Insn)(nil)
			if in.Flags&cpu.FlagDelaySlot != 0 {
				switch {
				case i+1 < n:
					slot = &buf[i+1]
					next += uint64(slot.Len)
				case i > 0:
					break insns // decode again from here, with the slot
				default:
					f.complete = false // the code ends before the slot
				}
			}
			b.end = next
			f.transfer(b, st, st, in, slot, pc, next)
			return
		}
	}
}

// atOnce is how near to its beginning a landing pad uses what it was left.
const atOnce = 32

// look notes what an instruction says about the function's beginning.
func (f *function) look(b *block, st *state, in *cpu.Insn) {
	if isLiteral(in) && f.img.Code(uint64(in.Imm)) != nil {
		f.data[uint64(in.Imm)] = uint64(in.Size)
	}
	if f.uses(st, in) {
		f.presumes = true
		f.pad = f.pad || b.via <= edgeJump && b.start-f.entry < atOnce
	}
	f.saves = f.saves || f.savesLink(in) && st.regs[f.arch.LR].isStart(f.arch.LR)
	if in.Dst == f.arch.LR && b.start == f.entry && f.arch.LR != cpu.NoReg &&
		(in.Op == cpu.OpConst && in.Imm == 0 || in.Op == cpu.OpMove && in.Src == f.arch.Zero) && !f.restored(st) {
		f.clearsRA = true
	}
}

// uses tells whether an instruction uses what a preserved register holds, where
// that is what it held on entry. Saving it is no use.
func (m *machine) uses(st *state, in *cpu.Insn) bool {
	entry := func(r cpu.Reg) bool {
		return m.arch.Preserved.Has(r) && !m.arch.Globals.Has(r) && st.regs[r].isStart(r)
	}
	switch in.Op {
	case cpu.OpMove, cpu.OpAddImm:
		return entry(in.Src)
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		return entry(in.Base) || entry(in.Index)
	}
	return false
}

// untaken makes st what holds behind a run of conditional instructions whose
// transfer is not taken. Their conditions need not be the same (moveq r6,r0; popne
// {…}), so that any of them may have happened, but nobody releases the frame under
// one condition and returns under another.
func (f *function) untaken(st, taken *state) {
	sp := st.regs[f.arch.SP]
	st.join(taken)
	st.regs[f.arch.SP] = sp
}

// conditionalRun returns the index of the conditional transfer that ends a run of
// conditional instructions from buf[i] on (addne sp,#12; popne {r4,pc}), 0 if
// there is none.
func (f *function) conditionalRun(buf []cpu.Insn, i int) int {
	for j := i; j < len(buf) && buf[j].Flags&cpu.FlagConditional != 0; j++ {
		if f.transfers(&buf[j]) {
			if j == i {
				return 0
			}
			return j
		}
	}
	return 0
}

// nextStart is the start of the block behind b.
func (f *function) nextStart(b *block) uint64 {
	i := sort.Search(len(f.blocks), func(i int) bool { return f.blocks[i].start > b.start })
	if i < len(f.blocks) {
		return f.blocks[i].start
	}
	return ^uint64(0)
}

// transfers tells whether the instruction ends a block.
func (m *machine) transfers(in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpJump, cpu.OpReturn, cpu.OpTrap:
		return true
	case cpu.OpCall:
		return in.Flags&cpu.FlagGetPC == 0
	case cpu.OpLoad:
		return in.Dst == m.arch.PC
	case cpu.OpLoadMulti:
		return in.List.Has(m.arch.PC) || in.Flags&cpu.FlagReturn != 0
	}
	return false
}

// decode fills buf from pc on. Where it fills it up it gives back a few
// instructions if need be, so that the next call begins at one that does not depend
// on those before.
func (m *machine) decode(pc uint64, mode cpu.Mode, buf []cpu.Insn) int {
	n := m.arch.Decoder.Decode(m.img.Code(pc), pc, mode, buf)
	if n < len(buf) {
		return n
	}
	for i := n; i > n-6 && i > 1; i-- {
		if !m.leads(&buf[i-1], mode) {
			return i
		}
	}
	return n
}

// leads tells whether the instruction behind this one may depend on it: the condition of
// an IT block is with the first of the block, and behind "mov lr,pc" a jump is a call.
func (m *machine) leads(in *cpu.Insn, mode cpu.Mode) bool {
	if mode == 0 {
		return in.Op == cpu.OpConst && in.Dst == m.arch.LR
	}
	return in.Flags&cpu.FlagConditional != 0 || in.Op == cpu.OpNop
}
