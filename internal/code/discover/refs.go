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

// findRefs makes the lists of what is found in the text. They take eight bytes for each, at most half of what
// the code takes.
func findRefs(code disasm.Code, find disasm.Finder) *refs {
	base, _ := code.Bounds()
	l := &refs{pages: pagesOf(code), base: base}
	next := make([]uint32, l.pages.n+1)
	lists := l.readAll(code, find, next[1:])
	for i := range l.pages.n {
		next[i+1] += next[i]
	}
	l.list, l.first = make([]shortJump, next[l.pages.n]), slices.Clone(next)
	for _, list := range lists {
		for _, r := range list {
			i, _ := l.pages.index(base + uint64(r.to))
			l.list[next[i]] = r
			next[i]++
		}
	}
	return l
}

// readAtOnce is how many parts of the text are read together: 4 MB, which are given back then. Text of nothing
// but calls takes 32 MB.
const readAtOnce = 16

// readAll lists what a finder finds in the text, by address, and counts what leads to each page. Parts of the text are
// read side by side. As many are kept as jumps are of the code.
func (l *refs) readAll(code disasm.Code, find disasm.Finder, counts []uint32) (lists [][]shortJump) {
	lo, hi := code.Bounds()
	var rooms [readAtOnce][]cpu.CallRef // of cores, of which there are no more than parts
	left, end := mostJumps(code), uint32(0)
	for parts := code.Parts(); len(parts) > 0 && left > 0; code.Img.Files.Forget() {
		some := parts[:min(len(parts), readAtOnce)]
		found := make([][]shortJump, len(some))
		onAllCores(len(some), 1, func(core, i int) {
			rooms[core] = find(some[i].Text, some[i].Addr, rooms[core][:0])
			found[i] = within(code, span{lo, hi}, rooms[core])
		})
		for i, list := range found {
			if some[i].Begins {
				end = uint32(some[i].Addr - lo)
			}
			list, end = l.count(list, end, left, counts)
			left -= len(list)
			lists = append(lists, small(list))
		}
		parts = parts[len(some):]
	}
	return lists
}

// small is a list in no more than twice the memory that it needs.
func small(list []shortJump) []shortJump {
	if len(list) < cap(list)/2 {
		return slices.Clone(list)
	}
	return list
}

// count leaves of a list, in place, at most so many that lead to code, and counts these by page. What begins in front of
// end is in the list before; the new end is returned.
func (l *refs) count(list []shortJump, end uint32, most int, counts []uint32) (kept []shortJump, last uint32) {
	kept = list[:0]
	for _, r := range list {
		if r.from < end {
			continue
		}
		end = r.from + 1
		if i, has := l.pages.index(l.base + uint64(r.to)); has && len(kept) < most {
			counts[i]++
			kept = append(kept, r)
		}
	}
	return kept, end
}

// within lists what leads into a range. Half of what reads as calls on x86 leads elsewhere, and is none.
func within(code disasm.Code, in span, refs []cpu.CallRef) []shortJump {
	align := code.Arch.InsnAlign - 1
	list := make([]shortJump, 0, len(refs))
	for i := range refs {
		r := &refs[i]
		if r.Target-in.lo >= in.hi-in.lo || r.Target&align != 0 || !possible(code, r) {
			continue
		}
		if s, ok := (jump{r.Site, disasm.Addr{PC: r.Target, Mode: r.TargetMode}.Key()}).short(in.lo); ok {
			list = append(list, s)
		}
	}
	return list
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
			if !yield(r.long(l.base)) {
				return
			}
		}
	}
}
