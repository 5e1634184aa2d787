// Package callsite finds the call that a return address follows, in the code of a captured
// program.
package callsite

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// codeBefore is how many bytes cpu.Decoder.CallBefore wants to see: more than the
// longest x86 instruction.
const codeBefore = 16

// Kind is what stands before an address.
type Kind uint8

const (
	// Missing: the bytes are missing that would tell.
	Missing Kind = iota
	// Call: a call that returns to the address.
	Call
	// NoCall: no call.
	NoCall
)

// Before tells whether a call returns to the target address ra, and which; the site is in
// target addresses. The code is that of the image mapped there, else what the capture
// holds (code generated at run time).
func Before(snap *target.Snapshot, ra uint64, mode cpu.Mode) (cpu.CallSite, Kind) {
	// The call may be the last instruction of a module, with ra behind its end.
	m, _ := snap.ModuleAt(ra - 1)
	return BeforeIn(snap, m, ra, mode)
}

// BeforeIn is Before for a return address to m, the module at the byte before ra; nil:
// there is none.
func BeforeIn(snap *target.Snapshot, m *target.Module, ra uint64, mode cpu.Mode) (cpu.CallSite, Kind) {
	if m != nil && m.Image != nil && m.Image.Arch.Decoder != nil {
		at := m.ToImage(ra) & m.Image.Arch.AddrMask()
		text, ok := m.Image.Segments.At(at - 1)
		if !ok || !hidden(text) {
			return inImage(m, text, at, mode)
		}
	}
	arch := snap.Arch
	if arch.Decoder == nil {
		return cpu.CallSite{}, Missing
	}
	if perm, ok := snap.Memory.PermAt(ra - 1); ok && perm != target.PermUnknown && perm&target.PermExec == 0 {
		return cpu.CallSite{}, NoCall
	}
	before := snap.Memory.Bytes(ra - codeBefore)
	if len(before) < codeBefore {
		return cpu.CallSite{}, Missing
	}
	site, ok := arch.Decoder.CallBefore(before[:codeBefore], ra, mode)
	if !ok {
		return site, NoCall
	}
	return site, Call
}

// hidden tells whether a segment has code that its file does not show: an encrypted program has
// none, nor has a dSYM. Zeros that can be written to are no such code.
func hidden(s *image.Segment) bool { return s.Exec && !s.Write && len(s.Data) == 0 || s.Unknown() }

// inImage is BeforeIn by the code of an image; text is the segment of the byte before at, an image
// address, nil where there is none.
func inImage(m *target.Module, text *image.Segment, at uint64, mode cpu.Mode) (cpu.CallSite, Kind) {
	if text != nil && text.Exec {
		if site, ok := InSegment(m, text, at, mode); ok {
			return site, Call
		}
		if text.Blank(at) {
			return cpu.CallSite{}, Missing
		}
	}
	return cpu.CallSite{}, NoCall
}

// InSegment is the call in a segment of m that returns to at, an image address; the site is
// in target addresses.
func InSegment(m *target.Module, text *image.Segment, at uint64, mode cpu.Mode) (cpu.CallSite, bool) {
	code, ok := before(text, at)
	if !ok {
		return cpu.CallSite{}, false
	}
	return callIn(m, code, at, mode)
}

// before is the code of a segment that ends at an image address, codeBefore bytes of it at most.
func before(text *image.Segment, at uint64) (code []byte, ok bool) {
	end := at - text.Addr
	if end > uint64(len(text.Data)) {
		return nil, false
	}
	return text.Data[end-min(end, codeBefore) : end], true
}

// callIn is InSegment for the code that ends at at.
func callIn(m *target.Module, code []byte, at uint64, mode cpu.Mode) (cpu.CallSite, bool) {
	site, ok := m.Image.Arch.Decoder.CallBefore(code, at, mode)
	site.Addr = m.ToTarget(site.Addr)
	if site.Target != 0 || site.Direct {
		site.Target = m.ToTarget(site.Target)
	}
	return site, ok
}
