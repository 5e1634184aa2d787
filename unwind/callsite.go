package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// codeBefore is how many bytes cpu.Decoder.CallBefore wants to see.
const codeBefore = 16

// ReturnsTo tells whether a call to be found in captured code returns to ra, and
// which; the site is in target addresses. No: ra is not in executable code, or no
// call stands before it. Unknown: the bytes are missing that would tell.
func ReturnsTo(snap *target.Snapshot, ra uint64, mode cpu.Mode) (cpu.CallSite, Answer) {
	// The call may be the last instruction of a module, with ra behind its end.
	m, ok := snap.ModuleAt(ra - 1)
	if !ok {
		return cpu.CallSite{}, No
	}
	if m.Image == nil || m.Image.Arch.Decoder == nil {
		return cpu.CallSite{}, Unknown
	}
	arch := m.Image.Arch
	img := m.ToImage(ra) & arch.AddrMask()
	if !m.Image.Executable(img - 1) {
		return cpu.CallSite{}, No
	}
	site, ok := arch.Decoder.CallBefore(m.Image.Before(img, codeBefore), img, mode)
	if !ok {
		return cpu.CallSite{}, No
	}
	site.Addr = m.ToTarget(site.Addr)
	if site.Direct {
		site.Target = m.ToTarget(site.Target)
	}
	return site, Yes
}
