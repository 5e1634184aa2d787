package unwind

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// dismissElsewhere looks at frames of which another function's call is one bit away, and which
// no proven caller settles: had that function been running, its own frame would lie there.
// Where no such frame does, nor did before one bit was lost, the other call is none to doubt for.
//
//	#2  0x2404 in g   ◄─ no call of g       sp+0x60: not a return address, so not in f, whose
//	#1  0x1404 in f, or 0x1404 ^ 0x1000     frame would have 0x60 bytes
func (v *verifier) dismissElsewhere(snap *target.Snapshot, frames []Frame) {
	for i := 1; i < len(frames); i++ {
		f := &frames[i]
		if f.Checks.has(OneBitElsewhere) && frames[i-1].HasCFA && (i+1 == len(frames) || !frames[i+1].Checks.proven()) &&
			!v.holdsElsewhere(snap, f, frames[i-1].CFA) {
			f.Checks &^= OneBitElsewhere
		}
	}
}

// holdsElsewhere tells whether some function whose call is one bit from f's return address may
// have been running with the stack pointer at sp.
func (v *verifier) holdsElsewhere(snap *target.Snapshot, f *Frame, sp uint64) bool {
	m := f.Module
	arch := m.Image.Arch
	at := m.ToImage(f.PC) & arch.AddrMask()
	text, ok := m.Image.Segment(at - 1)
	for bit := max(arch.InsnAlign, 1); ok && bit < farBit; bit <<= 1 {
		other, call := callsite.InSegment(m, text, at^bit, f.Mode)
		if call && v.graph.OneFunction(m, f.CallSite, other.Addr, f.Mode) != Yes && v.returnsFrom(snap, f, at^bit, sp) {
			return true
		}
	}
	return false
}

// returnsFrom tells whether a frame of the function at an image address in f's module, with its
// stack pointer at sp, may lead to a return address: it leads to one, or nobody knows.
func (v *verifier) returnsFrom(snap *target.Snapshot, f *Frame, at, sp uint64) bool {
	if v.starts.scratch == nil {
		v.starts.scratch = new(ruleScratch)
	}
	q, r, img := &v.starts.scratch.query, &v.starts.scratch.rule, f.Module.Image
	for _, s := range v.starts.sources {
		src, ok := s.(RuleSource)
		if !ok || s.Method().basis() == byConvention {
			continue
		}
		*q = Query{Image: img, Arch: img.Arch, PC: at - 1, Resume: at, Mode: f.Mode}
		r.Reset()
		if src.Rule(q, r) != Found {
			continue
		}
		if r.CFA.Kind != RegPlus || r.CFA.Base != img.Arch.SP || r.RA.Kind != AtCFA || r.Flags&SignedRA != 0 {
			return true
		}
		ra, ok := snap.Memory.Uint((sp+uint64(r.CFA.Off+r.RA.Off))&img.Arch.AddrMask(), img.Arch.RegSize)
		return !ok || nearReturn(snap, ra&img.Arch.AddrMask())
	}
	return true
}

// nearReturn tells whether a word is a return address, or was one before one bit was lost.
func nearReturn(snap *target.Snapshot, word uint64) bool {
	for bit := uint64(0); ; bit = max(bit<<1, 1) {
		pc, mode := snap.Arch.SplitCode(word ^ bit)
		if m, ok := snap.ModuleAt(pc - 1); ok {
			if _, kind := callsite.BeforeIn(snap, m, pc, mode); kind != callsite.NoCall {
				return true
			}
		}
		if bit > snap.Arch.AddrMask()>>1 {
			return false
		}
	}
}
