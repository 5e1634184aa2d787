package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxTailJumps bounds a chain of tail calls, PLT stubs among them.
const maxTailJumps = 12

// Reaches implements unwind.Flow.
func (s *Source) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) unwind.Answer {
	todo := []jump{{entry, mode}}
	answer := unwind.No
	for n := 0; n < len(todo) && n < maxTailJumps; n++ {
		switch a, more := s.reaches(snap, todo[n], pc); a {
		case unwind.Yes:
			return unwind.Yes
		case unwind.Unknown:
			answer = unwind.Unknown
		default:
			todo = appendNew(todo, more)
		}
	}
	if len(todo) > maxTailJumps {
		return unwind.Unknown
	}
	if answer == unwind.No && !s.elsewhere(snap, entry, mode, pc) {
		return unwind.Unknown
	}
	return answer
}

func appendNew(todo, more []jump) []jump {
next:
	for _, m := range more {
		for _, t := range todo {
			if t == m {
				continue next
			}
		}
		todo = append(todo, m)
	}
	return todo
}

// reaches answers for one function and lists where its tail calls go, in target
// addresses.
func (s *Source) reaches(snap *target.Snapshot, to jump, pc uint64) (unwind.Answer, []jump) {
	m, ok := snap.ModuleAt(to.to)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown, nil
	}
	an := s.of(m.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	mask := m.Image.Arch.AddrMask()
	if an.img.Code(m.ToImage(to.to)&mask) == nil {
		return unwind.No, nil
	}
	f := an.function(m.ToImage(to.to)&mask, to.mode)
	if m.Contains(pc) {
		if b, _ := f.at(m.ToImage(pc) & mask); b != nil && b.via == edgeGap {
			return unwind.Unknown, nil
		} else if b != nil {
			return unwind.Yes, nil
		}
	}
	var more []jump
	for _, t := range f.tails {
		more = append(more, jump{m.ToTarget(t.to), t.mode})
	}
	if d, ok := f.stubTarget(snap, m); ok {
		return unwind.No, append(more, d)
	}
	if !f.complete {
		return unwind.Unknown, nil
	}
	return unwind.No, more
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

// stubTarget resolves a function that is nothing but a jump through memory: a
// PLT stub, whose GOT entry the captured memory holds.
func (f *function) stubTarget(snap *target.Snapshot, m *target.Module) (jump, bool) {
	if len(f.blocks) != 1 {
		return jump{}, false
	}
	at, ok := f.loadedTarget()
	if !ok {
		return jump{}, false
	}
	v, ok := snap.Memory.Word(m.ToTarget(at))
	if !ok {
		return jump{}, false
	}
	a, mode := f.arch.SplitCode(v)
	return jump{a, mode}, true
}

// loadedTarget is the image address of the word that a stub jumps to.
func (f *function) loadedTarget() (uint64, bool) {
	var st state
	b := f.blocks[0]
	st.copyFrom(&b.in)
	return f.stubSlot(&st, jump{b.start, b.mode})
}

// Callee implements unwind.Flow.
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
