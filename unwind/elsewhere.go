package unwind

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// weighElsewhere looks at frames of which another function's call is one bit away, and which
// no proven caller settles: had that function been running, its own frame would lie there.
// Where no such frame does, nor did before one bit was lost, the other call is none to doubt for.
//
//	#2  0x2404 in g   ◄─ no call of g       sp+0x60: not a return address, so not in f, whose
//	#1  0x1404 in f, or 0x1404 ^ 0x1000     frame would have 0x60 bytes
//
// Where that frame does lie there, and is laid out as #1's own, both lead on alike: which of the
// two calls was running is in doubt, as between two calls of one function, and nothing further
// out is (find's pred_and and pred_or on MIPS, which differ in one condition).
func (v *verifier) weighElsewhere(snap *target.Snapshot, frames []Frame) {
	for i := 1; i < len(frames); i++ {
		f := &frames[i]
		if f.Checks.has(OneBitElsewhere) && frames[i-1].HasCFA && (i+1 == len(frames) || !frames[i+1].Checks.proven()) {
			f.Checks = f.Checks&^OneBitElsewhere | v.elsewhere(snap, f, frames[i-1].CFA)
		}
	}
}

// elsewhere tells whether some function whose call is one bit from f's return address may have
// been running with the stack pointer at sp: OneBitElsewhere, or OneBitAway if all that may have
// been lead on as f does.
func (v *verifier) elsewhere(snap *target.Snapshot, f *Frame, sp uint64) (found Checks) {
	m := f.Module
	arch := m.Image.Arch
	at := m.ToImage(f.PC) & arch.AddrMask()
	text, ok := m.Image.Segments.At(at - 1)
	if !ok {
		return 0
	}
	own, other := &v.starts.space().own, &v.starts.scratch.rule
	known := v.ruleFor(f, at, own) && leadsTo(own, sp, f)
	for far, call := range callsite.OneBitAway(m, text, at, f.Mode) {
		if v.graph.OneFunction(m, f.CallSite, call.Addr, f.Mode) == Yes {
			continue
		}
		switch ruled := v.ruleFor(f, far, other); {
		case ruled && known && other.Equal(own, arch.Preserved):
			found = OneBitAway
		case !ruled || mayReturn(snap, other, sp):
			return OneBitElsewhere
		}
	}
	return found
}

// leadsTo tells whether a rule adds to a stack pointer what makes f's CFA.
func leadsTo(r *Rule, sp uint64, f *Frame) bool {
	arch := f.Module.Image.Arch
	return f.HasCFA && r.CFA.Kind == RegPlus && r.CFA.Base == arch.SP && (sp+uint64(r.CFA.Off)-f.CFA)&arch.AddrMask() == 0
}

// ruleFor fills out with the rule for a return to an image address in f's module, as the first
// source has it that knows one.
func (v *verifier) ruleFor(f *Frame, at uint64, out *Rule) bool {
	q, img := &v.starts.space().query, f.Module.Image
	*q = Query{Image: img, Arch: img.Arch, PC: at - 1, Resume: at, Mode: f.Mode}
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

// mayReturn tells whether a frame by a rule, with its stack pointer at sp, may lead to a return
// address: it leads to one, or nobody knows.
func mayReturn(snap *target.Snapshot, r *Rule, sp uint64) bool {
	arch := snap.Arch
	if r.CFA.Kind != RegPlus || r.CFA.Base != arch.SP || r.RA.Kind != AtCFA || r.Flags&SignedRA != 0 {
		return true
	}
	ra, ok := snap.Memory.Uint((sp+uint64(r.CFA.Off+r.RA.Off))&arch.AddrMask(), arch.RegSize)
	return !ok || nearReturn(snap, ra&arch.AddrMask())
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
