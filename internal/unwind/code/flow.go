package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxTailJumps bounds a chain of tail calls, PLT stubs among them.
const maxTailJumps = 12

// reach is a question whether control comes from an entry to pc, both of one image.
type reach struct {
	entry jump
	pc    uint64
}

// Reaches implements unwind.CallGraph. It remembers what an image's code alone decides.
func (s *Source) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (a unwind.Answer, alone bool) {
	m, ok := snap.ModuleAt(entry)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown, false
	}
	an, mask := s.of(m.Image), m.Image.Arch.AddrMask()
	k := reach{jump{m.ToImage(entry) & mask, mode}, m.ToImage(pc) & mask}
	if m.Contains(pc) {
		if a, ok := an.reached.find(k); ok {
			return a, true
		}
	}
	a, alone = s.leads(snap, jump{entry, mode}, pc)
	if alone {
		an.reached.keep(k, a)
	}
	return a, alone
}

// leads follows tail calls from entry. alone: nothing but the code of one image, that
// of entry and pc, decided.
func (s *Source) leads(snap *target.Snapshot, entry jump, pc uint64) (answer unwind.Answer, alone bool) {
	var room [2 * maxTailJumps]jump
	todo := append(room[:0], entry)
	answer, alone = unwind.No, true
	straight := 1 // as many of todo are the entry's function and what its stub goes to
	for n := 0; n < len(todo) && n < maxTailJumps; n++ {
		known := len(todo)
		a, more, stub, own := s.reaches(snap, todo[n], pc, todo)
		alone = alone && own
		switch a {
		case unwind.Yes:
			if n >= straight {
				return unwind.YesByJump, alone
			}
			return unwind.Yes, alone
		case unwind.YesByJump:
			return a, alone
		default:
			if a == unwind.Unknown {
				answer = a
			}
			if stub && straight == known {
				straight++
			}
			todo = more
		}
	}
	if len(todo) > maxTailJumps || answer == unwind.No && !s.elsewhere(snap, entry.to, entry.mode, pc) {
		return unwind.Unknown, alone
	}
	return answer, alone
}

// appendNew appends a jump, unless it is there.
func appendNew(todo []jump, j jump) []jump {
	if slices.Contains(todo, j) {
		return todo
	}
	return append(todo, j)
}

// reaches answers for one function and appends to todo where its tail calls go, in
// target addresses. stub: it is nothing but a jump through memory. own: nothing but the
// code of the image that has pc was asked.
func (s *Source) reaches(snap *target.Snapshot, to jump, pc uint64, todo []jump) (a unwind.Answer, more []jump, stub, own bool) {
	m, ok := snap.ModuleAt(to.to)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown, todo, false, false
	}
	an := s.of(m.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	mask := m.Image.Arch.AddrMask()
	own = m.Contains(pc)
	if an.img.Code(m.ToImage(to.to)&mask) == nil {
		return unwind.No, todo, false, own
	}
	to.to = m.ToImage(to.to) & mask
	f := an.function(to.to, to.mode)
	if own {
		if b, _ := f.at(m.ToImage(pc) & mask); b != nil && b.via == edgeGap {
			return unwind.Unknown, todo, false, own
		} else if b != nil {
			return unwind.Yes, todo, false, own
		}
	}
	more = todo
	for _, t := range f.tails {
		more = appendNew(more, jump{m.ToTarget(t.to), t.mode})
	}
	if d, a := an.stubTarget(snap, m, to, pc); d.to != 0 {
		return a, appendNew(more, d), true, false
	}
	if !f.complete {
		if own && f.jumpsTo(m.ToImage(pc)&mask) {
			return unwind.YesByJump, todo, false, own
		}
		return unwind.Unknown, todo, false, own && an.stub(to).slot == 0
	}
	return unwind.No, more, false, own && an.stub(to).slot == 0
}

// maxSweep bounds the bytes of a function that are looked through line by line.
const maxSweep = 1 << 16

// jumpsTo tells whether a tail call of the function goes to the beginning of the one
// that has pc, or a direct jump that its flow did not come to. Big switches of tail
// calls (clang's RecursiveASTVisitor::TraverseStmt) are often not followed to all
// cases.
func (f *function) jumpsTo(pc uint64) bool {
	for _, t := range f.tails {
		if t.to <= pc && f.an.nextEntry(t.to, t.to) > pc {
			return true
		}
	}
	var buf [32]cpu.Insn
	end := min(f.an.nextEntry(f.entry, f.entry), f.entry+maxSweep)
	for at := f.entry; at < end; {
		n := f.arch.Decoder.Decode(f.img.Code(at), at, f.entryMode, buf[:])
		for i := range n {
			in := &buf[i]
			if t := in.Target; in.Op == cpu.OpJump && t != 0 && t <= pc && (t < f.entry || t >= end) && f.an.nextEntry(t, t) > pc {
				return true
			}
			at += uint64(in.Len)
		}
		if n == 0 {
			at += uint64(max(f.arch.InsnAlign, 1))
		}
	}
	return false
}

// elsewhere tells whether pc certainly belongs to another function than the one
// at entry: only then is it evidence that entry's flow does not come there. Code
// that only the runtime jumps to (landing pads) is in no flow; it lies behind its
// function's entry, or, split off, in code that unwind tables list.
func (s *Source) elsewhere(snap *target.Snapshot, entry uint64, entryMode cpu.Mode, pc uint64) bool {
	m, ok := snap.ModuleAt(pc)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	an := s.of(m.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	a, e := m.ToImage(pc)&an.arch.AddrMask(), m.ToImage(entry)&an.arch.AddrMask()
	if a < e || an.nextEntry(e, e) <= a {
		return !an.tablesList() || !an.function(e, entryMode).entersRange(a)
	}
	return false
}

// entersRange tells whether the function has code in the range of entries around
// pc: a part of it that was split off, with landing pads of its own.
func (f *function) entersRange(pc uint64) bool {
	hi := f.an.nextEntry(pc, f.entry)
	for _, b := range f.blocks {
		if b.start < hi && b.start > pc || b.start <= pc && f.an.nextEntry(b.start, f.entry) == hi {
			return true
		}
	}
	return false
}

// tablesList tells whether unwind tables list this image's functions.
func (an *analysis) tablesList() bool {
	an.strongEntries()
	return an.tables
}

// Callee implements unwind.CallGraph.
func (s *Source) Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (uint64, cpu.Mode, bool) {
	m, ok := snap.ModuleAt(site)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return 0, 0, false
	}
	an := s.of(m.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	a := m.ToImage(site) & m.Image.Arch.AddrMask()
	es := an.entriesBelow(a, mode)
	if len(es) == 0 {
		return 0, 0, false
	}
	f := an.function(es[0], mode)
	if at, ok := f.gotSlot(a, mode); ok {
		if v, ok := snap.Memory.Word(m.ToTarget(at)); ok {
			to, toMode := an.arch.SplitCode(v)
			return to, toMode, true
		}
	}
	v, ok := f.calls[a]
	if !ok {
		return 0, 0, false
	}
	to, toMode := an.arch.SplitCode(uint64(v.off))
	return m.ToTarget(to), toMode, true
}

// gotSlot is the image address of the word that an indirect call reads its target
// from, where that is a constant.
func (f *function) gotSlot(site uint64, mode cpu.Mode) (uint64, bool) {
	var st state
	if !f.stateAt(site, mode, &st) {
		return 0, false
	}
	var buf [1]cpu.Insn
	if f.arch.Decoder.Decode(f.img.Code(site), site, mode, buf[:]) == 0 {
		return 0, false
	}
	in := &buf[0]
	if in.Op != cpu.OpCall || in.Flags&cpu.FlagMemory == 0 {
		return 0, false
	}
	a := f.operand(&st, in)
	return uint64(a.off) & f.arch.AddrMask(), a.kind == konst
}
