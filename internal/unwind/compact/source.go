// Package compact finds unwind rules in Mach-O's compact unwind tables: a function's frame in
// 32 bits.
//
//	x86-64, i386   frame pointer   [fp] saved fp, [fp+8] RA, up to five registers below
//	               frameless       SP + a constant, of the encoding or of the function's own
//	                               sub; up to six registers, in an order by its number
//	arm64          frame           [x29] saved x29 and x30, pairs of registers below
//	               frameless       SP + a constant; RA in x30
//	arm            frame           [r7] saved r7, [r7+4] RA, registers below
//	all            DWARF           what package cfi reads
//
// An encoding holds where the function calls others. In prologues and epilogues it does not,
// which no encoding tells apart: in a frame whose PC is exact the code is asked first, and the
// rule is a fallback. On recorded programs it is right there in 23 to 65 of a hundred places.
//
// Specification: mach-o/compact_unwind_encoding.h of Apple's libunwind.
package compact

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source implements stackwalk.RuleSource. It has no state of its own.
type Source struct{}

var _ stackwalk.RuleSource = Source{}

// Method is MethodCompact.
func (Source) Method() unwind.Method { return unwind.MethodCompact }

// Knows implements stackwalk.ImageSource.
func (Source) Knows(img *image.Image) bool { return img.Table(image.CompactUnwind).Size != 0 }

// Rule decodes the entry that covers q.PC. There is one answer per place.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 {
		return unwind.NotCovered
	}
	e, ok := compactunwind.Of(q.Image).Find(q.PC)
	d := decoderOf(q.Arch)
	if !ok || d == nil {
		return unwind.NotCovered
	}
	v := d(newFunction(q.Image, &e, q.PC, out), e.Encoding)
	if q.Exact {
		out.Flags |= stackwalk.Fallback
	}
	return v
}

// function is the function of an entry whose rule is being made.
type function struct {
	img   *image.Image
	arch  *cpu.Arch
	start uint64 // where it begins, an image address
	out   *stackwalk.Rule
}

// newFunction is the function of an address. An entry may cover several: where each begins, only
// the linker's list of functions states.
func newFunction(img *image.Image, e *compactunwind.Entry, pc uint64, out *stackwalk.Rule) *function {
	out.Start = e.Lo
	if lo, _, _, ok := img.Symbols.FunctionAt(pc); ok && lo >= e.Lo {
		out.Start, out.Flags = lo, out.Flags|stackwalk.StartStated
	}
	return &function{img: img, arch: img.Arch, start: out.Start, out: out}
}

// decoder makes the rule of an encoding.
type decoder func(f *function, e compactunwind.Encoding) unwind.Verdict

// decoderOf is the decoder of a processor, nil where its encodings are not read.
func decoderOf(arch *cpu.Arch) decoder {
	for i := range decoders {
		if decoders[i].arch == arch.Name {
			return decoders[i].decode
		}
	}
	return nil
}

var decoders = [...]struct {
	arch   string
	decode decoder
}{
	{"x86_64", decodeX86},
	{"i386", decodeX86},
	{"aarch64", decodeARM64},
	{"arm", decodeARM},
}

// cfa sets the CFA to a register and an offset.
func (f *function) cfa(base cpu.Reg, off int64) {
	f.out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: base, Off: off}
}

// saved says that a register lies at an offset from the CFA; cpu.NoReg is the return address.
// What calls do not preserve is of no use to a caller.
func (f *function) saved(r cpu.Reg, off int64) {
	if r == cpu.NoReg {
		f.out.RA = stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: r, Base: cpu.NoReg, Off: off}
	} else if f.arch.Preserved.Has(r) {
		f.out.Add(stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: r, Base: cpu.NoReg, Off: off})
	}
}
