// Package scan finds a caller where nothing tells how to unwind: it searches the
// stack above SP for the nearest word that looks like a return address. The stack
// keeps words of functions that returned long ago, so what it finds is a guess and
// is reported as one; other sources are asked for the next frame again.
//
//	SP ─► locals
//	      0x4005d2         data, or code but no call before it
//	      saved registers
//	      0x40123c         a call stands before it: the caller
//	  SP' ─► …             the least that the caller's SP can be
package scan

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// maxWords bounds the search: 64 KiB of a 64-bit stack. Frames above that size
// exist, but a return address found behind so much is more often an old one.
const maxWords = 8192

// maxCandidates bounds the return addresses that are looked at closely.
const maxCandidates = 256

// Source is the stackwalk.FrameSource of stack scans.
type Source struct {
	graph       stackwalk.CallGraph
	trampolines []stackwalk.Trampoline
	tables      stackwalk.RuleSource
}

var _ stackwalk.FrameSource = Source{}

// New returns a source that asks graph, unless nil, where calls go, and accepts
// return addresses that are trampolines.
func New(graph stackwalk.CallGraph, trampolines ...stackwalk.Trampoline) Source {
	return Source{graph: graph, trampolines: trampolines}
}

// By returns a source that, of return addresses into binaries that are not at hand, takes those from whose frames tables lead on.
func (f Source) By(tables stackwalk.RuleSource) Source {
	f.tables = tables
	return f
}

// Method is MethodScan.
func (Source) Method() unwind.Method { return unwind.MethodScan }

// Step finds the caller. Of its registers only PC, SP and maybe FP are known; SP
// is exact where calls push the return address, else a lower bound, and then the
// CFA is left unknown.
func (f Source) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	sp, ok := s.Regs.Lookup(arch.SP)
	if !ok || arch.Decoder == nil { // which words are return addresses, calls tell
		return unwind.NotCovered
	}
	sp &= arch.AddrMask()
	if s.Exact && f.link(s, sp, out) {
		return unwind.Found
	}
	if s.Exhausted() {
		return unwind.TooCostly
	}
	hit := f.inView(s, sp)
	if !hit.ok {
		hit = f.search(s, max(sp+callees(s), s.Floor()))
	}
	if !hit.ok {
		return unwind.NotCovered
	}
	f.found(s, hit, out)
	return unwind.Found
}

// hit is a return address in a stack slot.
type hit struct {
	slot, raw uint64
	ok        bool
}

// or is h, else other.
func (h hit) or(other hit) hit {
	if h.ok {
		return h
	}
	return other
}

// wordCost is what a look at a word that points into code costs, in instructions analysed:
// both take the same time.
const wordCost = 4

// search looks for the nearest return address of a call that certainly goes to
// where the thread is, or else for the nearest whose target is unknown. Return
// addresses of calls that go elsewhere are old ones.
func (f Source) search(s *stackwalk.State, sp uint64) (first hit) {
	candidates, size := 0, uint64(s.Snapshot.Arch.RegSize)
	var last, fits hit // behind a function's last instruction; where a frame keeps the global pointer
	for slot, raw := range s.CodeWords(sp, maxWords) {
		s.Cost += wordCost
		site, kind := f.classify(s, raw, slot+size)
		h := hit{slot, raw, true}
		if kind == atEnd {
			last = last.or(h)
		}
		if kind == other || kind == atEnd {
			continue
		}
		leads := stackwalk.Unknown
		if kind == returnAddress {
			leads = f.leadsOn(s, raw, slot+size)
		}
		if leads == stackwalk.No {
			continue
		}
		switch f.reaches(s, &site, kind) {
		case stackwalk.Yes:
			if inner := fits.or(first).or(last); kind == trampoline && inner.ok && inner.raw != raw && f.unseen(s, inner.raw) {
				return inner // of a handler whose code is not at hand, or of what the handler called
			}
			return h
		case stackwalk.Unknown:
			if s.IsAbove() { // this far from SP any word may be one
				break
			}
			if first = first.or(h); f.graph == nil || first == h && leads == stackwalk.Yes {
				return first
			}
			if !fits.ok && h.slot-first.slot < maxFrame*size && keepsGlobal(s, &h) {
				fits = h
			}
		}
		if candidates++; candidates == maxCandidates || s.Exhausted() {
			break
		}
	}
	return fits.or(first)
}

// kind is what a word may be.
type kind uint8

const (
	other kind = iota
	returnAddress
	trampoline
	// atEnd: a function's first address, or the return address of a call that ends the function in front and never returns.
	atEnd
)

// classify tells what raw may be, in a slot behind which SP is sp, and which call precedes a return address.
func (f Source) classify(s *stackwalk.State, raw, sp uint64) (cpu.CallSite, kind) {
	pc, mode := s.Snapshot.Arch.SplitCode(s.CodeAddress(raw))
	site, a := callsite.Before(s.Snapshot, pc, mode)
	if a == callsite.Call {
		return site, returnAddress
	}
	for _, t := range f.trampolines {
		if t.At(s, pc, mode) || a == callsite.Missing && atUnseen(t, s, pc, sp) {
			return site, trampoline
		}
	}
	if a == callsite.Missing {
		return site, withinFunction(s.Snapshot, pc, mode)
	}
	return site, other
}

// unseen tells whether what precedes a return address is not at hand.
func (f Source) unseen(s *stackwalk.State, raw uint64) bool {
	pc, mode := s.Snapshot.Arch.SplitCode(s.CodeAddress(raw))
	_, a := callsite.Before(s.Snapshot, pc, mode)
	return a == callsite.Missing
}

// reaches tells whether the call at site can have led to the frame s.
func (f Source) reaches(s *stackwalk.State, site *cpu.CallSite, k kind) stackwalk.Answer {
	if k == trampoline {
		return stackwalk.Yes
	}
	if f.graph == nil || !site.Direct || s.AtVector() || s.Exhausted() {
		return stackwalk.Unknown
	}
	if m := s.Module; m != nil && m.Image == nil { // a chip's ROM, which is called without stubs
		if in, ok := s.Snapshot.ModuleAt(site.Target); ok && in == m {
			return stackwalk.Yes
		}
	}
	a, _, cost := f.graph.Reaches(s.Snapshot, site.Target, site.TargetMode, s.Site)
	s.Cost += cost
	return a
}

// found fills out for a return address in a slot.
func (f Source) found(s *stackwalk.State, h hit, out *stackwalk.Caller) {
	arch := s.Snapshot.Arch
	*out = stackwalk.Caller{}
	out.Regs.Set(arch.PC, s.CodeAddress(h.raw))
	sp := (h.slot + uint64(arch.RegSize)) & arch.AddrMask()
	out.Regs.Set(arch.SP, sp)
	if arch.EntryCFA != 0 {
		out.CFA, out.HasCFA = sp, true
	}
	if fp, ok := savedFP(s, h.slot); ok {
		out.Regs.Set(arch.FP, fp)
	}
}

// savedFP is the caller's frame pointer if the return address in slot belongs to
// a frame record: the record's other word then points further up the stack.
func savedFP(s *stackwalk.State, slot uint64) (uint64, bool) {
	arch := s.Snapshot.Arch
	if arch.FPChain == nil {
		return 0, false
	}
	fp, ok := s.Snapshot.Memory.Uint(slot+uint64(arch.FPChain.SavedFP-arch.FPChain.SavedRA), arch.RegSize)
	return fp, ok && fp > slot && fp%uint64(arch.RegSize) == 0 && s.Stack.Contains(fp)
}
