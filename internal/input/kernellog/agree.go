package kernellog

import (
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

// settlePlaces compares the addresses of a chain's entries with their symbols. Where the two disagree, a return
// address is the one that a call stands in front of.
func settlePlaces(e *evidence, listed []target.Listed) []target.Listed {
	b := e.binaries
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
	return listed
}

// withAddresses gives the entries that are symbols alone the addresses that files give those.
func withAddresses(e *evidence, listed []target.Listed) []target.Listed {
	b := e.binaries
	for i := range listed {
		l := &listed[i]
		if l.PC != 0 || l.Symbol == "" || l.Size == 0 && l.Offset == 0 { // ARM's trace begins with a name alone
			continue
		}
		p := placeOf(l)
		if addr, ok := b.addressOf(&p); ok && !p.isImpossible(b.instructions()) {
			l.PC, l.ByName = addr, true
		} else if ok || b.lacksName(&p) {
			l.Gap = true
		}
	}
	return listed
}

// doubtPC tells whether a record contradicts itself on where the processor stood:
//
//	epc   : ffffffffcc008e24 leaf+0x14/0x18 [toy]
//	Call Trace:
//	[<ffffffffc0008e24>] leaf+0x14/0x18 [toy]
func (b *binaries) doubtPC(r *record) bool {
	pc := pcOf(r)
	if pc == nil || pc.at.symbol == "" {
		return false
	}
	if pc.known && !b.agrees(pc.value, &pc.at) || pc.at.isImpossible(b.instructions()) {
		return true
	}
	if len(r.trace.listed) == 0 {
		return false
	}
	first := &r.trace.listed[0]
	if samePlace(first, &pc.at) {
		return pc.known && first.PC != 0 && first.PC != pc.value
	}
	return first.Symbol == pc.at.symbol && processorOf(r).has(listsAtPC)
}

// doubtInterrupted doubts that entries behind the entry code of exceptions are where the exceptions happened, if a call
// stands in front of them. Chains say that of ARM alone, which names the entry code as the callee, and of x86, which
// has the registers of what was interrupted. MIPS reads the entry code's prologue as a function's, and
// lists where the link register pointed instead of the PC:
//
//	[<81b99258>] tlb_do_page_fault_0+0x118/0x120
//	[<c00a506c>] mid_c+0x40/0x54 [crashy]    jalr of leaf_deref stands in front; leaf_deref was running
//
// Elsewhere the line of the interrupted function was lost.
func doubtInterrupted(e *evidence, listed []target.Listed) []target.Listed {
	if e.has(listsInterrupted) {
		return listed
	}
	for i := 1; i < len(listed); i++ {
		if l := &listed[i]; l.Exact && !l.Outermost && !isTrampoline(l.Symbol) && e.binaries.behindCall(l.PC) {
			l.Exact, l.Gap = false, true
		}
	}
	return listed
}

// doubtBehindExceptions doubts what follows an exception within RISC-V's kernel before Linux 6.2: the kernel goes on at
// the frame pointer of the interrupted function, so that the place where that stood is missing, and whether the next
// entry is in that function or in its caller is not known.
//
//	[<ffffffe000203b74>] do_trap_break+0x96/0xfe
//	[<ffffffe000201daa>] ret_from_exception+0x0/0x14
//	[<ffffffe00020452c>] toy_write+0x17e/0x19a            epc was at toy_write+0x182
func doubtBehindExceptions(e *evidence, listed []target.Listed) []target.Listed {
	if !e.has(framePointers) {
		return listed
	}
	for i := 1; i < len(listed); i++ {
		if listed[i-1].Symbol == "ret_from_exception" {
			listed[i].Exact, listed[i].Gap = listed[i].Outermost, true
		}
	}
	return listed
}

// dropNextNames leaves out names that are those of the next function: behind a call that never
// returns, the return address is where the next function begins, and kernels print that one.
// BUG() at the end of bug_b is listed as "bug_c from kth_fn+0x0/0x14".
func dropNextNames(_ *evidence, listed []target.Listed) []target.Listed {
	for i := range listed {
		if l := &listed[i]; l.Offset == 0 && l.Size != 0 && !l.Exact && !isReturnedTo(l.Symbol) {
			l.Symbol, l.Size = "", 0
		}
	}
	return listed
}
