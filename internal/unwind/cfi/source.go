// Package cfi finds unwind rules in DWARF call frame information: .eh_frame by
// the binary search table of .eh_frame_hdr, .debug_frame, and .eh_frame without
// a usable table by an index that is built on first need.
//
//	PC ─► __unwind_info
//	   or .eh_frame_hdr ─► FDE ─► CIE ─► program of the CIE, then of the FDE ─► row at PC ─► Rule
//	       or index
//
// Where Mach-O's __unwind_info covers an address, its entry names the FDE, or says that another
// source has the rule.
//
// Everything is read straight from the file's bytes at each question; what is
// kept per image is where the sections are. Specifications: DWARF 5 §6.4 and
// §7.24; Linux Standard Base Core, "Exception Frames"; AADWARF64 for signed
// return addresses.
package cfi

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source implements stackwalk.RuleSource. It has no state of its own.
type Source struct{}

// New returns a Source.
func New() *Source { return &Source{} }

// Method is MethodCFI.
func (*Source) Method() unwind.Method { return unwind.MethodCFI }

// Rule finds the row that covers q.PC. There is one answer per place.
func (*Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 {
		return unwind.NotCovered
	}
	t := tableOf(q.Image, q.Arch)
	var f fde
	l, v := t.find(q.PC, &f)
	if v != unwind.Found {
		return v
	}
	v = t.run(&l.section, &f, q, out)
	if v == unwind.Found && out.RA.Kind == stackwalk.Undefined {
		if g, ok := pclntab.Of(q.Image).At(q.PC); ok && g.Handles() {
			return unwind.NotCovered
		}
	}
	return v
}

// FunctionRanges calls yield for the range lo ≤ address < hi of every FDE, in
// image addresses, in order within a section, until it returns false. A function
// in several pieces has several FDEs. Ranges of .debug_frame that .eh_frame also
// has are left out.
func (*Source) FunctionRanges(img *image.Image, yield func(lo, hi uint64) bool) {
	t := tableOf(img, img.Arch)
	if !t.eh.ranges(yield) {
		return
	}
	t.debugFrame().ranges(func(lo, hi uint64) bool {
		var f fde
		if t.eh.find(lo, &f) == unwind.Found {
			return true
		}
		return yield(lo, hi)
	})
}

// mostSplit is how many bytes a part that was split off a function has at most: a larger description that begins as
// no function does is of several functions, and says of their prologues and helpers what holds where they call.
const mostSplit = 4 << 10

// Functions calls yield for the ranges of FunctionRanges without the descriptions of several functions. Examples: Dart has one
// for all of its text, LuaJIT for its interpreter.
func (s *Source) Functions(img *image.Image, yield func(lo, hi uint64) bool) {
	s.FunctionRanges(img, func(lo, hi uint64) bool { return s.ofSeveral(img, lo, hi) || yield(lo, hi) })
}

// ofSeveral tells whether a description is of several functions.
func (s *Source) ofSeveral(img *image.Image, lo, hi uint64) bool {
	if hi-lo <= mostSplit {
		return false
	}
	var first stackwalk.Rule
	first.Reset()
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: lo, Resume: lo, Exact: true}
	return s.Rule(&q, &first) == unwind.Found && !first.AtEntry(img.Arch)
}

// FunctionAt returns a search by .eh_frame_hdr for the one of Functions that has an image address; nil where there is no header. Where
// the address lies in a gap between two, ok is false, and the gap is from lo to hi; both are 0 where the header does not tell.
func (s *Source) FunctionAt(img *image.Image) func(pc uint64) (lo, hi uint64, ok bool) {
	l := &tableOf(img, img.Arch).eh
	if l.hdr.count == 0 {
		return nil
	}
	return func(pc uint64) (lo, hi uint64, ok bool) { return s.functionAt(img, l, pc) }
}

func (s *Source) functionAt(img *image.Image, l *lookup, pc uint64) (lo, hi uint64, ok bool) {
	var f fde
	ok, sure := l.findByHeader(pc, &f)
	switch {
	case ok && s.ofSeveral(img, f.start, f.start+f.size):
		return 0, 0, false
	case ok:
		return f.start, f.start + f.size, true
	case !sure:
		return 0, 0, false
	}
	i := l.hdr.search(pc)
	if hi = ^uint64(0); i+1 < l.hdr.count {
		hi, _ = l.hdr.row(i + 1)
	}
	if i >= 0 {
		lo = f.start + f.size
	}
	return lo, hi, false
}
