// Package orc finds unwind rules in ORC tables, which the Linux kernel for x86-64 has in
// place of call frame information, for C and for its entry code alike:
//
//	.orc_unwind_ip   sorted, 4 bytes each: where an entry begins to hold, relative to itself
//	.orc_unwind      6 bytes each: where the CFA is, where RBP is saved, what lies at the CFA
//
// A kernel in memory has no sections; its own symbols say where the tables are.
//
// Specifications: Documentation/arch/x86/orc-unwinder.rst, arch/x86/include/asm/orc_types.h,
// arch/x86/kernel/unwind_orc.c.
package orc

import (
	"encoding/binary"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// Source implements stackwalk.RuleSource.
type Source struct{}

// Method is MethodCFI: the tables state what the compiler's tables would.
func (Source) Method() unwind.Method { return unwind.MethodCFI }

// Knows implements stackwalk.ImageSource.
func (Source) Knows(img *image.Image) bool {
	return img.Arch != nil && img.Arch.Name == "x86_64" && len(tableOf(img).starts) > 0
}

// Rule finds the entry that covers q.PC. There is one answer per place.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 || q.Arch.Name != "x86_64" {
		return unwind.NotCovered
	}
	e, ok := tableOf(q.Image).find(q.PC)
	if !ok {
		return unwind.NotCovered
	}
	return e.rule(registersOf(q.Arch), out)
}

const entrySize = 6

// table is the tables of one image.
type table struct {
	starts  []uint64 // ascending
	entries []byte   // in the order of starts
	late    bool     // the types of Linux 6.4
	moved   bool     // the numbers of registers of Linux 7.2
}

func tableOf(img *image.Image) *table {
	type key struct{}
	return img.Memo(key{}, func() any { return read(img) }).(*table)
}

// read finds the tables. A module's are not sorted.
func read(img *image.Image) *table {
	ips, base := part(img, ".orc_unwind_ip", "__start_orc_unwind_ip", "__stop_orc_unwind_ip")
	if len(ips) == 0 {
		return &table{}
	}
	entries, _ := part(img, ".orc_unwind", "__start_orc_unwind", "__stop_orc_unwind")
	n := min(len(ips)/4, len(entries)/entrySize)
	t := &table{starts: make([]uint64, n), entries: entries[:n*entrySize]}
	for i := range n {
		at := base + 4*uint64(i)
		t.starts[i] = at + uint64(int64(int32(binary.LittleEndian.Uint32(ips[4*i:]))))
	}
	if !sort.SliceIsSorted(t.starts, func(i, j int) bool { return t.starts[i] < t.starts[j] }) {
		t.entries = append([]byte(nil), t.entries...)
		sort.Stable(t)
	}
	t.late, t.moved = t.isLate(), t.isMoved()
	return t
}

// part is a section or, where the image has none, what lies between two symbols.
func part(img *image.Image, section, start, stop string) ([]byte, uint64) {
	if s, ok := img.Sections.Named(section); ok {
		return s.Data, s.Addr
	}
	if _, hi := img.Segments.Bounds(); hi>>63 == 0 {
		return nil, 0 // a program, not a kernel
	}
	lo, ok := img.Symbols.Named(start)
	hi, ok2 := img.Symbols.Named(stop)
	b := img.Segments.Bytes(lo.Addr)
	if !ok || !ok2 || hi.Addr < lo.Addr || hi.Addr-lo.Addr > uint64(len(b)) {
		return nil, 0
	}
	return b[:hi.Addr-lo.Addr], lo.Addr
}

// Len, Less and Swap implement sort.Interface.
func (t *table) Len() int           { return len(t.starts) }
func (t *table) Less(i, j int) bool { return t.starts[i] < t.starts[j] }
func (t *table) Swap(i, j int) {
	t.starts[i], t.starts[j] = t.starts[j], t.starts[i]
	var a [entrySize]byte
	x, y := t.entries[i*entrySize:][:entrySize], t.entries[j*entrySize:][:entrySize]
	copy(a[:], x)
	copy(x, y)
	copy(y, a[:])
}

// isLate tells which numbers the types have: those of Linux 6.4, where most entries, those
// between calls, have type 2; before, type 0.
func (t *table) isLate() bool {
	count := [8]int{}
	for at := 0; at < len(t.entries); at += entrySize {
		if t.entries[at+4]&15 != 0 {
			count[t.entries[at+5]&7]++
		}
	}
	return count[2] > count[0]
}

// isMoved tells which numbers the registers have. Most CFAs count from the stack pointer, whose number is 5,
// and 3 in Linux 7.2: there 5 is RDI, which hardly an entry needs, as 3 was before.
func (t *table) isMoved() bool {
	count := [16]int{}
	for at := 0; at < len(t.entries); at += entrySize {
		count[t.entries[at+4]&15]++
	}
	return count[regDI] > count[regSP]
}

// reg is what a number of the table stands for.
func (t *table) reg(number uint8) uint8 {
	linux72 := [...]uint8{regUndefined, regAX, regDX, regSP, regBP, regDI, regR10, regR13, regPrevSP, regSPIndirect, regBPIndirect}
	switch {
	case t.moved && int(number) < len(linux72):
		return linux72[number]
	case t.moved || number > regSPIndirect:
		return regUnknown
	}
	return number
}

// find is the entry that covers an address.
func (t *table) find(pc uint64) (entry, bool) {
	i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > pc }) - 1
	if i < 0 || i == len(t.starts)-1 {
		return entry{}, false // the last entry ends the table
	}
	b := t.entries[i*entrySize:]
	e := entry{sp: int16(binary.LittleEndian.Uint16(b)), bp: int16(binary.LittleEndian.Uint16(b[2:])), spReg: t.reg(b[4] & 15), bpReg: t.reg(b[4] >> 4)}
	// Behind the type follow the bits signal, since 6.3, and end, which is said of entries
	// without a CFA only.
	e.kind, e.end = kind(b[5]&3), b[5]&0xc != 0 && e.spReg == regUndefined
	if t.late {
		e.kind, e.end = kind(b[5]&7)-2, b[5]&7 == 1
		e.none = b[5]&7 == 0
	}
	e.none = e.none || e.spReg == regUndefined && !e.end
	return e, true
}

// entry is struct orc_entry.
type entry struct {
	sp, bp       int16
	spReg, bpReg uint8
	kind         kind
	end, none    bool
}

// kind is what lies at the CFA: a call's return address right below it, or registers that
// the entry code saved.
type kind uint8

const (
	call    kind = iota
	regs         // struct pt_regs
	partial      // what the processor pushes: ip, cs, flags, sp, ss
)

// Bases of the CFA and of RBP's place (ORC_REG_…), by their numbers before Linux 7.2.
const (
	regUndefined = iota
	regPrevSP
	regDX
	regDI
	regBP
	regSP
	regR10
	regR13
	regBPIndirect
	regSPIndirect
	regAX // since Linux 7.2
	regUnknown
)

// registers are those of x86-64 that entries name.
type registers struct {
	sp, bp cpu.Reg
	bases  [regUnknown]cpu.Reg
	saved  []cpu.Reg // in the order of struct pt_regs
}

func registersOf(a *cpu.Arch) registers {
	by := func(name string) cpu.Reg {
		r, _ := a.RegByName(name)
		return r
	}
	r := registers{sp: a.SP, bp: a.FP}
	r.bases = [...]cpu.Reg{cpu.NoReg, cpu.NoReg, by("rdx"), by("rdi"), a.FP, a.SP, by("r10"), by("r13"), a.FP, a.SP, by("rax")}
	for _, n := range []string{"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"} {
		r.saved = append(r.saved, by(n))
	}
	return r
}

// Offsets in struct pt_regs, and of its end.
const (
	ptIP, ptSP, ptEnd = 128, 152, 168
	iretSize          = ptEnd - ptIP
)

// rule is what the entry says. The CFA of saved registers is their end.
func (e *entry) rule(r registers, out *stackwalk.Rule) unwind.Verdict {
	switch {
	case e.end:
		return unwind.EndOfStack
	case e.none || e.spReg == regPrevSP || e.spReg >= regUnknown || e.kind > partial:
		return unwind.NotCovered
	}
	base := r.bases[e.spReg]
	out.CFA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: base, Off: int64(e.sp)}
	switch e.spReg {
	case regBPIndirect:
		out.CFA = rule.Register{Kind: rule.AtReg, Reg: cpu.NoReg, Base: base, Off: int64(e.sp)}
	case regSPIndirect:
		out.CFA = rule.Register{Kind: rule.AtReg, Reg: cpu.NoReg, Base: base, Add: int64(e.sp)}
	}
	if e.kind != call {
		e.interrupted(r, out)
		return unwind.Found
	}
	out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -8}
	switch e.bpReg {
	case regPrevSP:
		out.Add(rule.Register{Kind: rule.AtCFA, Reg: r.bp, Base: cpu.NoReg, Off: int64(e.bp)})
	case regBP:
		out.Add(rule.Register{Kind: rule.AtReg, Reg: r.bp, Base: r.bp, Off: int64(e.bp)})
	}
	return unwind.Found
}

// interrupted recovers saved registers; the PC is where the code was interrupted.
func (e *entry) interrupted(r registers, out *stackwalk.Rule) {
	size := int64(ptEnd)
	if e.kind == partial {
		size = iretSize
	}
	if out.CFA.Kind == rule.RegPlus {
		out.CFA.Off += size
	} else {
		out.CFA.Add += size
	}
	at := func(reg cpu.Reg, off int64) rule.Register {
		return rule.Register{Kind: rule.AtCFA, Reg: reg, Base: cpu.NoReg, Off: off - ptEnd}
	}
	out.RA = at(cpu.NoReg, ptIP)
	out.Add(at(r.sp, ptSP))
	if e.kind == regs {
		for i, reg := range r.saved {
			out.Add(at(reg, 8*int64(i)))
		}
	}
	out.Flags |= rule.SignalFrame | rule.ExceptionFrame
}
