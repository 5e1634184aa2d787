package discover

import (
	"iter"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// refs are the direct calls, or the jumps, that one linear pass reads out of an image's bytes, by the
// page of code of their targets.
type refs struct {
	pages pages
	list  []shortJump // sorted by page, those of one page by site
	first []uint32    // of the list, by page
	base  uint64      // what the list is relative to
}

// findRefs makes the lists of what a pass visits. They take eight bytes for each, at most half of what
// the code takes.
func findRefs(code disasm.Code, pass func(visit func(*cpu.CallRef) bool)) *refs {
	found := newJumps(code)
	l := &refs{pages: pagesOf(code), base: found.base}
	next := make([]uint32, l.pages.n+1)
	align := code.Arch.InsnAlign - 1
	seen := passing{code: code}
	pass(func(r *cpu.CallRef) bool {
		seen.at(r.Site)
		key := disasm.Addr{PC: r.Target, Mode: r.TargetMode}.Key()
		if i, has := l.pages.index(key); has && r.Target&align == 0 && possible(code, r) && found.add(jump{r.Site, key}) {
			next[i+1]++
		}
		return true
	})
	for i := range l.pages.n {
		next[i+1] += next[i]
	}
	l.list, l.first = make([]shortJump, next[l.pages.n]), slices.Clone(next)
	for _, chunk := range found.chunks {
		for _, r := range chunk {
			i, _ := l.pages.index(l.base + uint64(r.to))
			l.list[next[i]] = r
			next[i]++
		}
	}
	return l
}

// passing gives back the pages of an image that a pass has left behind.
type passing struct {
	code disasm.Code
	last uint64
}

// forgetEvery is after how many bytes the pages are given back.
const forgetEvery = 4 << 20

// at tells that the pass has come to an address.
func (p *passing) at(addr uint64) {
	if addr-p.last >= forgetEvery { // or addr is below last, in another segment
		p.last = addr
		p.code.Img.Files.Forget()
	}
}

// possible tells whether an instruction that reads as a call can be one in this image.
// MIPS linkers place tables of names and constants in the executable segment.
// A file that is loaded anywhere has no calls that hold an absolute address (jal), and one
// whose code is of one ISA mode has none into another: 74007268 in gawk's .dynstr, "hr\0t",
// reads as jalx into the middle of yyparse.
func possible(code disasm.Code, r *cpu.CallRef) bool {
	return !(code.Img.Relocatable && r.Absolute) && !(code.Img.OneMode && r.TargetMode != 0)
}

// to yields what leads to somewhere in the page with the number i, from the lowest address on.
func (l *refs) to(i int) iter.Seq[jump] {
	return func(yield func(jump) bool) {
		for _, r := range l.list[l.first[i]:l.first[i+1]] {
			if !yield(jump{l.base + uint64(r.from), l.base + uint64(r.to)}) {
				return
			}
		}
	}
}
