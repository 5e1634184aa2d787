package scan

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Of a binary whose code is not at hand a symbol file may name the functions, or a capture may say where code was mapped.
// There no call can be looked for, but:
//
//	address within a function, behind its beginning      may be a return address
//	a function's first address                           a pointer to the function
//	between functions, outside what was executable       data

// withinFunction tells what a target address may be whose code, of a mode, is not at hand.
func withinFunction(snap *target.Snapshot, pc uint64, mode cpu.Mode) kind {
	m, _ := snap.ModuleAt(pc - 1)
	if !m.Hollow() {
		return other
	}
	at := m.ToImage(pc) & m.Image.Arch.AddrMask()
	if !m.Image.Segments.Executable(at-1) || at%m.Image.Arch.InsnAlignIn(mode) != 0 {
		return other
	}
	if !m.Image.Symbols.HasFunctions() {
		return returnAddress
	}
	_, named := m.Image.Symbols.At(at - 1)
	next, _ := m.Image.Symbols.At(at)
	switch {
	case !named:
		return other
	case next.Addr == at:
		return atEnd
	}
	return returnAddress
}

// atUnseen tells whether the frame of a trampoline whose code is not at hand lies at sp, where a word pc leads to. Where the code
// of the frame in front is at hand, that leads to the trampoline without a search.
func atUnseen(t stackwalk.Trampoline, s *stackwalk.State, pc, sp uint64) bool {
	if s.Module != nil && !s.Module.Hollow() {
		return false
	}
	u, ok := t.(stackwalk.Unseen)
	return ok && u.Unseen(s, pc, sp)
}

// sameFunction tells whether symbols say that a target address lies in the function that the frame is in.
func sameFunction(s *stackwalk.State, pc uint64) stackwalk.Answer {
	if s.Module == nil || s.Module.Image == nil || !s.Module.Contains(pc) {
		return stackwalk.Unknown
	}
	own, ok := s.Module.Image.Symbols.At(s.Module.ToImage(s.Site) & s.Module.Image.Arch.AddrMask())
	other, named := s.Module.Image.Symbols.At((s.Module.ToImage(pc) - 1) & s.Module.Image.Arch.AddrMask())
	switch {
	case !ok || !named || own.Addr == other.Addr && own.Size == 0:
		return stackwalk.Unknown
	case own.Addr == other.Addr:
		return stackwalk.Yes
	}
	return stackwalk.No
}
