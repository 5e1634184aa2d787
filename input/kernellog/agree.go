package kernellog

import (
	"strings"

	"github.com/backsight/backsight/target"
)

// Kernels print places twice, and a console that changes letters seldom changes both alike:
//
//	epc   : c00a5020 leaf_deref+0x20/0x2c [crashy]        MIPS, RISC-V: the address and the symbol
//	[<c00a506c>] mid_c+0x40/0x54 [crashy]
//	PC is at leaf_deref+0x14/0x20 [crashy]                ARM: in two lines
//	pc : [<bf000014>]    lr : [<bf000044>]    psr: 40000013
//	pc : leaf_deref+0x18/0x24 [crashy]                    arm64: the chain begins at the PC
//	 leaf_deref+0x18/0x24 [crashy]

// agrees tells whether an address is the place that a symbol and an offset tell, as far as files say. Where no file tells,
// the kernel of a 64-bit processor is in the upper half, if it has an MMU: RISC-V's "epc : leaf_deref+0xc/0x20 [crashy]"
// and, in the next line, "epc : 0000000012345678" are of two reports.
func (b *binaries) agrees(addr uint64, p *place) bool {
	if p.symbol == "" {
		return true
	}
	if b.arch.AddrSize == 8 && addr>>63 == 0 && !b.lower {
		return false
	}
	m := b.moduleOf(p)
	if m == nil || m.Image == nil {
		return true
	}
	at, ok := b.symbols.addressOf(m.Image, p)
	if !ok || m.ToTarget(at) == addr {
		return true
	}
	in := m.ToImage(addr)
	for _, within := range [...]uint64{in, in - 1} { // another function of that name; a call may end a function
		if s, ok := m.Image.Symbols.At(within); ok && s.Name == p.symbol && in-s.Addr == p.offset {
			return true
		}
	}
	return false
}

// isLower tells whether a kernel lies in the lower half of the address space, as those without an MMU do (Linux for the
// K210): so do most of the places that it prints.
func isLower(places []place) bool {
	lower := 0
	for i := range places {
		switch p := &places[i]; {
		case !p.hasAddr:
		case p.addr>>63 == 0:
			lower++
		default:
			lower--
		}
	}
	return lower > 0
}

// isImpossible tells whether a place lies beyond its own function, or between instructions.
func (p *place) isImpossible(align uint64) bool {
	return p.symbol != "" && p.size != 0 && (p.offset > p.size || align > 1 && p.offset%align != 0)
}

// settlePlaces compares the addresses of a chain's entries with their symbols. Where the two disagree, a return
// address is the one that a call stands in front of.
func (b *binaries) settlePlaces(listed []target.Listed) {
	for i := range listed {
		l := &listed[i]
		p := placeOf(l)
		if l.PC == 0 || l.Symbol == "" || b.agrees(l.PC, &p) {
			continue
		}
		at, _ := b.addressOf(&p)
		printed, named := b.behindCall(l.PC), b.behindCall(at) && !p.isImpossible(b.instructions())
		if named && !printed && !l.Exact {
			l.PC = at
		}
		l.Gap = l.Gap || named == printed || l.Exact
	}
}

// instructions is what the addresses of all instructions are multiples of.
func (b *binaries) instructions() uint64 { return b.arch.InsnAlign }

// doubtPC tells whether a record contradicts itself on where the processor stood.
func (b *binaries) doubtPC(r *record) bool {
	pc := pcOf(r)
	if pc == nil || pc.at.symbol == "" {
		return false
	}
	if pc.known && !b.agrees(pc.value, &pc.at) || pc.at.isImpossible(b.instructions()) {
		return true
	}
	return len(r.trace.listed) > 0 && beginsAtPC(r) && r.trace.listed[0].Symbol == pc.at.symbol && !samePlace(&r.trace.listed[0], &pc.at)
}

// beginsAtPC tells whether the record is of a processor whose chains begin where the registers' PC is.
func beginsAtPC(r *record) bool {
	switch m, _ := machineOf(r); m.name {
	case "aarch64", "mips", "mips64", "riscv64", "riscv32":
		return true
	}
	return false
}

// lacksPC tells whether the record's chain begins elsewhere than where the processor stood: its first lines were
// lost, or the chain is another report's. ARM names the function of the PC first, or the caller's where no function
// is at the PC.
func lacksPC(r *record) bool {
	pc := r.reg("pc", "epc")
	if pc == nil || len(r.trace.listed) == 0 {
		return false
	}
	first := &r.trace.listed[0]
	if m, _ := machineOf(r); m.name == "arm" {
		lr := r.reg("lr")
		named := pc.at.symbol
		switch {
		case named == "" && lr == nil:
			return true
		case named == "":
			named = lr.at.symbol
		}
		return named != "" && first.Symbol != named
	}
	return pc.at.symbol != "" && beginsAtPC(r) && !samePlace(first, &pc.at) && !leavesPCOut(r)
}

// leavesPCOut tells whether a record's kernel lists a stack from the caller of the PC on: RISC-V's between Linux 5.15.24 and
// 6.1 (arch/riscv/kernel/stacktrace.c, level++ >= 1).
func leavesPCOut(r *record) bool {
	if m, _ := machineOf(r); m.name != "riscv64" && m.name != "riscv32" {
		return false
	}
	var v [3]int
	for i, s := range strings.SplitN(r.release, ".", len(v)) {
		v[i] = leadingNumber(s, 0)
	}
	return v[0] == 6 && v[1] == 0 || v[0] == 5 && (v[1] > 15 || v[1] == 15 && v[2] >= 24)
}
