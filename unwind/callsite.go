package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// codeBefore is how many bytes cpu.Decoder.CallBefore wants to see: more than the
// longest x86 instruction.
const codeBefore = 16

// ReturnsTo tells whether a call to be found in captured code returns to ra, and
// which; the site is in target addresses. The code is that of the image mapped
// there, else what the capture holds (code generated at run time). Unknown: the
// bytes are missing that would tell.
func ReturnsTo(snap *target.Snapshot, ra uint64, mode cpu.Mode) (cpu.CallSite, Answer) {
	// The call may be the last instruction of a module, with ra behind its end.
	m, _ := snap.ModuleAt(ra - 1)
	return returnsTo(snap, m, ra, mode)
}

// returnsTo is ReturnsTo for a return address to m, the module at the byte before
// it; nil: there is none.
func returnsTo(snap *target.Snapshot, m *target.Module, ra uint64, mode cpu.Mode) (cpu.CallSite, Answer) {
	if m != nil && m.Image != nil && m.Image.Arch.Decoder != nil {
		arch := m.Image.Arch
		at := m.ToImage(ra) & arch.AddrMask()
		if text, ok := m.Image.Segment(at - 1); ok && text.Exec {
			if site, ok := callIn(m, text, at, mode); ok {
				return site, Yes
			}
		}
		return cpu.CallSite{}, No
	}
	arch := snap.Arch
	if arch.Decoder == nil {
		return cpu.CallSite{}, Unknown
	}
	if perm, ok := snap.Memory.PermAt(ra - 1); ok && perm != target.PermUnknown && perm&target.PermExec == 0 {
		return cpu.CallSite{}, No
	}
	before := snap.Memory.Bytes(ra - codeBefore)
	if len(before) < codeBefore {
		return cpu.CallSite{}, Unknown
	}
	site, ok := arch.Decoder.CallBefore(before[:codeBefore], ra, mode)
	if !ok {
		return site, No
	}
	return site, Yes
}

// callIn is the call in a segment of m that returns to at, an image address; the site is
// in target addresses.
func callIn(m *target.Module, text *image.Segment, at uint64, mode cpu.Mode) (cpu.CallSite, bool) {
	end := at - text.Addr
	if end > uint64(len(text.Data)) {
		return cpu.CallSite{}, false
	}
	site, ok := m.Image.Arch.Decoder.CallBefore(text.Data[end-min(end, codeBefore):end], at, mode)
	site.Addr, site.Target = m.ToTarget(site.Addr), m.ToTarget(site.Target)
	return site, ok
}
