package unwind

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// weighElsewhere looks at frames of which another function's call is one bit away, and which
// no proven caller settles: had that function been running, its own frame would lie there.
// Where no such frame does, the other call is none to doubt for.
//
//	#2  0x2404 in g   ◄─ no call of g       sp+0x60: not a return address, so not in f, whose
//	#1  0x1404 in f, or 0x1404 ^ 0x1000     frame would have 0x60 bytes
//
// Where that frame does lie there, and is laid out as #1's own, both lead on alike: which of the
// two calls was running is in doubt, as between two calls of one function, and nothing further
// out is (find's pred_and and pred_or on MIPS, which differ in one condition). Which registers either saved matters only
// where a register told the size of a frame further out.
//
// The other function may be another library's: 0x3f5633b8 in libc and 0x3f1633b8 in libp11-kit, of a recorded
// run of curl. Such calls matter only where nothing settles which function the frame is of; and so do those to
// a function from which nobody knows a way to the callee, nor that there is none.
//
// Where a frame's caller is proven, the other function's must have been as good: it would have been called from
// where its own return address leads. An old return address may prove a caller that is none: in tar for mips64el,
// 0x5a168 and 0x5a968 call one function.
//
// Another call of the frame's own function counts where the function has pushed more or less for that call:
// then what lies further out depends on which of the two was running. tidy for i386 pushes words between the
// calls that return to 0x2aa75 and 0x2aa7d.
//
// What a caller still holds in its frame of the address that it called, another function with such a frame would
// hold as well: libjpeg has a function for each order of colours, and two of them call the same methods, at
// 0x70fa and 0x72fa of x86-64's. through are the frames whose calls only that proves.
func (w *Walker) weighElsewhere(snap *target.Snapshot, t *target.Thread, frames []Frame, through []int) {
	var at *siblings
	for i, left := 1, maxWeighed; i < len(frames) && left > 0; i++ {
		callee, f := &frames[i-1], &frames[i]
		settled := i+1 < len(frames) && frames[i+1].Checks.has(TargetMatches)
		if !f.Checks.has(CallBefore) || !callee.HasCFA || settled && f.Checks&(OneBitElsewhere|OneBitAway) == 0 {
			continue
		}
		left--
		e := elsewhere{verifier: &w.finder.verifier, near: &w.near, snap: snap, callee: callee, frame: f, further: frames[i+1:], settled: settled, limit: w.finder.account.left()}
		if slices.Contains(through, i) {
			if at == nil {
				at = siblingsIn(w, snap)
			}
			if at.hold(t, frames, i) {
				e.through = at
			}
		}
		found := e.look()
		if found.has(OneBitElsewhere) && f.Method.basis() == inTable && f.Checks&targetChecks == 0 {
			if w.proveCall(snap, callee, f); f.Checks.proven() {
				found = e.look()
			}
		}
		w.finder.account.pay(placeOf(callee.PC, callee.Mode, callee.Exact), e.cost)
		f.Checks = f.Checks&^OneBitElsewhere | found
	}
}

// elsewhere looks at the calls in other functions that are one bit from the return address of a frame.
type elsewhere struct {
	*verifier
	near          *hashTable[callKey, []callsite.Neighbour]
	snap          *target.Snapshot
	callee, frame *Frame
	further       []Frame   // behind the frame
	settled       bool      // the frame's caller is proven
	through       *siblings // if only the address that the caller still holds tells where the frame's call went
	cost, limit   uint64    // of all answers, see State.Cost
}

// look tells whether some other function, whose call is one bit from the frame's return address, may have
// been running with the callee's CFA as its stack pointer: OneBitElsewhere, or OneBitAway if all that may
// have been lead on as the frame does.
func (e *elsewhere) look() (found Checks) {
	neighbours := e.neighbours()
	own := len(neighbours) > 0 && e.ownRule()
	for _, n := range neighbours {
		found |= e.weigh(n, own)
		if found.has(OneBitElsewhere) || e.cost >= e.limit {
			return OneBitElsewhere
		}
	}
	return found
}

// neighbours are the calls in other functions, one bit away, that may have led to the callee. What was found out
// by code alone is kept for further walks.
func (e *elsewhere) neighbours() []callsite.Neighbour {
	if e.through != nil {
		return e.lookAround()
	}
	f, callee := e.frame, e.callee
	key, tag := callKey{callee.PC, f.PC}, placeOf(callee.PC, callee.Mode, callee.Exact).tag|uint32(f.Mode)&1<<2
	if f.Checks.proven() {
		tag |= 1 << 3
	}
	if f.Checks.has(OneBitAway) {
		tag |= 1 << 4
	}
	if known := e.near.find(key.hash(), tag, key); known != nil {
		return *known
	}
	list := e.lookAround()
	if e.cost < e.limit {
		*e.near = e.near.insert(tag, key, list)
	}
	return list
}

// lookAround finds the neighbours; none are left out when the walk has cost as much as it may.
func (e *elsewhere) lookAround() (list []callsite.Neighbour) {
	f, callee := e.frame, e.callee
	to := State{Snapshot: e.snap, PC: callee.PC, Site: callee.CallSite, Mode: callee.Mode, Exact: callee.Exact, Module: callee.Module}
	for n := range callsite.OneBitAwayAnywhere(e.snap, f.Module, f.PC, f.Mode) {
		within := e.within(n)
		if within && !f.Checks.has(OneBitAway) {
			continue
		}
		unclear := within || !f.Checks.proven() || e.through != nil && e.through.mayCall(n.Module, n.Call.Addr, f.Mode, within)
		if e.mayLead(n.Call, f.Mode, unclear, to) && !e.graph.Witnesses().WithinInstruction(n.Module, n.Call.Addr, f.Mode) {
			list = append(list, n) // at most one a bit
		}
	}
	return list
}

// within tells whether a call stands in the frame's own function.
func (e *elsewhere) within(n callsite.Neighbour) bool {
	f := e.frame
	return n.Module == f.Module && e.graph.OneFunction(f.Module, f.CallSite, n.Call.Addr, f.Mode) == Yes
}

// mayLead tells whether a call, in code of the mode own, may have led to a place. unclear: so may one of which nobody
// knows. An import's name may tell: of the calls one bit from 0x2c015c in cmake for mipsel, which calls a function
// through a pointer, one is a landing pad's call of operator delete.
func (e *elsewhere) mayLead(call cpu.CallSite, own cpu.Mode, unclear bool, to State) bool {
	entry, mode, known := call.Target, own, call.Direct
	if known {
		mode = call.TargetMode
	} else {
		entry, mode, known = e.graph.Callee(e.snap, call.Addr, own)
	}
	if !known {
		return unclear && e.graph.Witnesses().MayCall(e.snap, call.Addr, own, to.Site) != No
	}
	if m, _ := e.snap.ModuleAt(entry); executable(e.snap, entry, m) == 0 {
		return false // data that read as a call
	}
	to.Cost, to.Limit = e.cost, e.limit
	a := e.reaches(&to, &candidate{}, entry, mode)
	may := a == Yes || a == YesByJump || a == Unknown && unclear && ask(e.graph.Witnesses().MayReach, &to, &candidate{}, entry, mode) != No
	e.cost = to.Cost
	return may
}

// ownRule finds the rule of the frame itself, the scratch's own, if a source has one.
func (e *elsewhere) ownRule() bool {
	f, scratch := e.frame, e.starts.space()
	if f.Module == nil || f.Module.Image == nil {
		return false
	}
	known := e.ruleAt(f.Module, f.PC, f.Mode, &scratch.own)
	e.cost += scratch.query.Cost
	return known
}

// weigh tells what a frame behind another call, its stack pointer at the callee's CFA, is worth against
// the frame, whose own rule may be known. Within one function where the frame ends and where its return address is
// matters.
func (e *elsewhere) weigh(n callsite.Neighbour, known bool) Checks {
	f, within, preserved := e.frame, e.within(n), e.snap.Arch.Preserved
	own, other := &e.starts.scratch.own, &e.starts.scratch.rule
	known = known && (within || leadsTo(own, e.callee.CFA, f))
	ruled := e.ruleAt(n.Module, n.PC, f.Mode, other)
	e.cost += e.starts.scratch.query.Cost
	if within || e.sized() {
		preserved = 0
	}
	switch {
	case ruled && known && other.Equal(own, preserved):
		if e.settled {
			return 0
		}
		return OneBitAway
	case !ruled && !e.settled && !within, ruled && e.mayLeadOn(n):
		return OneBitElsewhere
	}
	return 0
}

// sized tells whether sizes alone led from frame to frame further out: no register that a frame gives back mattered.
func (e *elsewhere) sized() bool {
	return !slices.ContainsFunc(e.further, func(f Frame) bool { return !f.Checks.has(FrameSize) })
}

// leadsTo tells whether a rule adds to a stack pointer what makes f's CFA.
func leadsTo(r *Rule, sp uint64, f *Frame) bool {
	arch := f.Module.Image.Arch
	return f.HasCFA && r.CFA.Kind == RegPlus && r.CFA.Base == arch.SP && (sp+uint64(r.CFA.Off)-f.CFA)&arch.AddrMask() == 0
}

// ruleAt fills out with the rule for a return to pc in m, as the first source has it
// that knows one.
func (v *verifier) ruleAt(m *target.Module, pc uint64, mode cpu.Mode, out *Rule) bool {
	q, img := &v.starts.space().query, m.Image
	at := m.ToImage(pc) & img.Arch.AddrMask()
	*q = Query{Image: img, Arch: img.Arch, PC: at - 1, Resume: at, Mode: mode}
	for _, s := range v.starts.sources {
		src, ok := s.(RuleSource)
		if !ok || s.Method().basis() == byConvention {
			continue
		}
		out.Reset()
		if src.Rule(q, out) == Found {
			return true
		}
	}
	return false
}
