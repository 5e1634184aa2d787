// Package ehabi unwinds by the exception index table of 32-bit ARM. The terms and
// section numbers are those of "Exception Handling ABI for the Arm Architecture"
// (EHABI32, IHI 0038).
//
//	.ARM.exidx, sorted by function        .ARM.extab
//	┌──────────────┬─────────────┐
//	│ prel31 fn    │ 0x1         │ EXIDX_CANTUNWIND
//	│ prel31 fn    │ 1|compact   │ three bytecodes inline
//	│ prel31 fn    │ prel31 ─────┼──► 1|compact, bytecodes …
//	│ prel31 fn    │ prel31 ─────┼──► prel31 personality, bytecodes …
//	└──────────────┴─────────────┘
//
// The bytecodes pop a function's frame as it is at its calls; nothing describes
// prologues and epilogues. So the rule is right in a frame that resumes after a
// call, and no more than a hint in an exact one.
package ehabi

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.RuleSource of exception index tables.
type Source struct{}

var _ stackwalk.RuleSource = Source{}

// Method is MethodEHABI.
func (Source) Method() unwind.Method { return unwind.MethodEHABI }

// Knows implements stackwalk.ImageSource.
func (Source) Knows(img *image.Image) bool {
	_, table := index(img)
	return len(table) > 0
}

// Rule has one answer, which is a Fallback in exact frames.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 {
		return unwind.NotCovered
	}
	var p program
	if v := find(q.Image, q.PC, &p); v != unwind.Found {
		return v
	}
	if q.Exact && begins(q.Image, q.PC) {
		out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: q.Arch.SP}
		out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: q.Arch.LR}
		return unwind.Found
	}
	m := machine{arch: q.Arch}
	m.vsp.base = q.Arch.SP
	if v := m.run(&p); v != unwind.Found {
		return v
	}
	if v := m.rule(out); v != unwind.Found {
		return v
	}
	if q.Exact {
		out.Flags |= stackwalk.Fallback
	}
	return unwind.Found
}

// cantUnwind is EXIDX_CANTUNWIND (section 6).
//
// The entry does not mean the end of the stack. Without options for tables GCC writes such entries
// for all functions that cannot throw, and linkers put them in front of code that has no table.
const cantUnwind = 1

// find looks the function at pc up and makes p its bytecodes.
func find(img *image.Image, pc uint64, p *program) unwind.Verdict {
	base, table := index(img)
	k, ok := search(table, base, pc, img.Arch.BigEndian)
	if !ok || !img.Segments.Executable(function(table, base, k, img.Arch.BigEndian)) {
		return unwind.NotCovered
	}
	at := base + uint64(k)*entrySize + 4
	content := word(table[k*entrySize+4:], img.Arch.BigEndian)
	switch {
	case content == cantUnwind:
		return unwind.NotCovered
	case content&compact != 0:
		return p.open(table[k*entrySize+4:(k+1)*entrySize], img.Arch.BigEndian)
	}
	return p.open(img.Segments.Bytes(prel31(at, content)), img.Arch.BigEndian)
}

// entrySize is the size of an index table entry: two words.
const entrySize = 8

// index returns the table and its image address: the one that the program is loaded
// with, or else the section.
func index(img *image.Image) (addr uint64, table []byte) {
	if at := img.Table(image.ExIdx); at.Size != 0 {
		table = img.Segments.Bytes(at.Addr)
		return at.Addr, table[:bin.Limit(at.Size, len(table))]
	}
	if img.Arch == nil || img.Arch.Name != "arm" {
		return 0, nil
	}
	s := img.Memo(sectionKey{}, func() any { return indexSection(img) }).(*image.Section)
	return s.Addr, s.Data
}

// sectionKey is the Memo key of an image's index section.
type sectionKey struct{}

// indexSection is empty where there is none. The Linux kernel's linker script calls it
// .ARM.unwind_idx.
func indexSection(img *image.Image) *image.Section {
	s, ok := img.Sections.Named(".ARM.exidx")
	if !ok {
		s, _ = img.Sections.Named(".ARM.unwind_idx")
	}
	return &s
}

// search finds the last entry whose function starts at or before pc.
func search(table []byte, base, pc uint64, bigEndian bool) (k int, ok bool) {
	lo, hi := 0, len(table)/entrySize
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if function(table, base, m, bigEndian) <= pc {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1, lo > 0
}

// begins tells whether a function begins at pc, whose first instruction finds all as the call left it. What an entry says
// holds at the function's calls.
func begins(img *image.Image, pc uint64) bool {
	base, table := index(img)
	k, ok := search(table, base, pc, img.Arch.BigEndian)
	return ok && function(table, base, k, img.Arch.BigEndian) == pc
}

// function is the start of the k-th entry's function. Linkers set bit 0 for Thumb
// functions where the entry refers to a symbol (R_ARM_PREL31 is (S + A) | T − P).
func function(table []byte, base uint64, k int, bigEndian bool) uint64 {
	return prel31(base+uint64(k)*entrySize, word(table[k*entrySize:], bigEndian)) &^ 1
}

// prel31 is the address that a place-relative 31-bit offset at addr refers to.
func prel31(addr uint64, v uint32) uint64 {
	return uint64(uint32(addr) + uint32(int32(v<<1)>>1))
}

// word reads the word at the start of b, which has four bytes at least.
func word(b []byte, bigEndian bool) uint32 { return uint32(bin.Uint(b[:4], bigEndian)) }
