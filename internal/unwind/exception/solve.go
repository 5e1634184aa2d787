package exception

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// solution is what registers held when a trap came.
type solution struct {
	val   [entryRegs]uint64
	known [entryRegs]bool
	// unread: the word where the entry stored the interrupted PC is not in memory.
	unread bool
}

// learn tells from v, whose value is actual now, what v's base held at the start; ok is false where
// that contradicts what is known of the base.
func (so *solution) learn(v value, actual, mask uint64) (ok bool) {
	switch {
	case v.kind == number:
		return v.off&mask == actual&mask
	case v.kind == unknown:
		return true
	}
	was := (actual - v.off) & mask
	if so.known[v.base] {
		return so.val[v.base] == was
	}
	so.val[v.base], so.known[v.base] = was, true
	return true
}

// of is the value of v, if its base is known.
func (so *solution) of(v value) (uint64, bool) {
	switch v.kind {
	case number:
		return v.off, true
	case start:
		return so.val[v.base] + v.off, so.known[v.base]
	}
	return 0, false
}

// savesAll tells whether an entry saves what no function saves for its caller, a temporary and
// an argument. A function in C that was called by the entry may read xepc too, and keep it on
// the stack beside its own return address.
func (st *entryState) savesAll(arch *cpu.Arch) bool {
	names := [2]string{"t0", "a0"}
	if isBanked(arch) {
		names = [2]string{"r12", "r0"}
	}
	t0, _ := arch.RegByName(names[0])
	a0, _ := arch.RegByName(names[1])
	temporary, argument := false, false
	for i := range st.slots {
		temporary = temporary || st.slots[i].val.isStart(t0)
		argument = argument || st.slots[i].val.isStart(a0)
	}
	return temporary && argument
}

// interrupted is the registers with which the interrupted code goes on: what the frame's
// registers hold now tells where the stack of the entry lies, and that what was stored there.
// The interrupted SP and PC must be known, and the return address, which every entry saves
// before it calls.
func (st *entryState) interrupted(s *stackwalk.State) (regs cpu.Registers, f fit) {
	arch := s.Snapshot.Arch
	var so solution
	if !st.solve(s, &so) {
		return regs, contradicted
	}
	if so.unread && !so.known[epc] {
		return regs, contradicted // no stack lies there
	}
	if !st.savesAll(arch) || !so.known[epc] || !so.known[arch.SP] || !so.known[arch.LR] {
		return regs, incomplete
	}
	for r := range epc {
		if so.known[r] {
			regs.Set(r, so.val[r])
		}
	}
	regs.Set(arch.PC, so.val[epc])
	if isBanked(arch) && !st.unbank(arch, &so, &regs) {
		return regs, contradicted
	}
	sp := so.val[arch.SP]
	_, captured := s.Snapshot.Memory.Word(sp)
	if !captured || sp%uint64(arch.RegSize) != 0 || !isCode(s, so.val[epc]) && !isCode(s, so.val[arch.LR]) {
		return regs, contradicted
	}
	return regs, complete
}

// fit is how a state goes with a frame.
type fit uint8

const (
	contradicted fit = iota // the stack's words say something else
	incomplete              // the state does not tell where the interrupted code stands
	complete
)

// solve learns from the frame's registers and from the words that were stored. Two rounds
// are enough: the first finds the interrupted SP, where a word of the entry's stack holds it.
func (st *entryState) solve(s *stackwalk.State, so *solution) bool {
	mask, sp := s.Snapshot.Arch.AddrMask(), s.Snapshot.Arch.SP
	for known := s.Regs.Known; known != 0; known = known.Without(known.First()) {
		r := known.First()
		if r < epc && !so.learn(st.regs[r], s.Regs.Val[r], mask) && (r == sp || st.regs[r].base == sp) {
			return false // another way leads here
		}
	}
	for range 2 {
		for i := range st.slots {
			addr, ok := so.of(st.slots[i].addr)
			if !ok {
				continue
			}
			v, ok := s.Snapshot.Memory.Word(addr & mask)
			so.unread = so.unread || !ok && st.slots[i].val.isStart(epc)
			if base := st.slots[i].val; ok && !so.learn(base, v, mask) && base.isStart(sp) {
				return false
			}
		}
	}
	return true
}

func isCode(s *stackwalk.State, pc uint64) bool {
	m, ok := s.Snapshot.ModuleAt(pc)
	return ok && m.Image != nil && m.Image.Segments.Executable(m.ToImage(pc))
}
