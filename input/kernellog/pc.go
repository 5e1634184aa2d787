package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// completed is a record's chain, listed, with the PC, and the caller that only the link register has.
//
// The kernel's list begins at the PC on some processors, at its caller on others. Where the
// PC's function had saved no link register, the list lacks the function's caller, which is
// where the link register points to: on arm64, leaf_deref is listed with mid_b behind it
// while "lr : mid_c+0x2c/0x3c" says who called. A link register within the PC's own function
// is left over from a call that came back; one in a tracer's trampoline does not say who called.
//
// ARM's functions come back by loading the PC from the stack, so that the register may point to where a function called
// that has come back long since. Its unwinder by tables knows the callers of leaf functions, that by frame pointers does not:
//
//	PC is at mutex_lock_toy+0x54/0xb18
//	LR is at lock_is_held_toy+0x80/0x138
//	[<c0afc920>] (mutex_lock_toy) from [<c0afd400>] (toy_probe+0x1c/0x24)
func completed(r *record, listed []target.Listed, arch *cpu.Arch) []target.Listed {
	pc := pcOf(r)
	if len(listed) > 0 && pc == nil && startsItself(&listed[0], arch) {
		listed[0].Exact = true
	}
	if pc == nil && len(listed) > 0 && startsAtPC(r) {
		pc = &register{name: "pc", at: placeOf(&listed[0])}
	}
	if pc == nil && trapsToWarn(r) {
		pc = &register{name: "pc", at: r.at, value: r.at.addr, known: r.at.hasAddr}
	}
	if pc == nil && isMIPS(arch) && (r.reg("$31", "ra", "$29") != nil || hasBeginnings(listed)) {
		for i := range listed { // doubtSearched cannot tell
			listed[i].Searched = true
		}
	}
	if pc == nil {
		return listed
	}
	if len(listed) > 0 && listed[0].Exact && listed[0].Symbol != "" && pc.at.symbol == "" {
		if lr := r.reg("lr"); lr != nil && lr.at.symbol == listed[0].Symbol { // ARM names the function that called nowhere
			listed[0] = lr.at.listed()
			listed[0].PC = lr.value
		}
		return listed
	}
	if isMIPS(arch) {
		doubtSearched(listed, pc)
	}
	listed, at := withPC(listed, pc, arch)
	function := pc.at.function()
	if function == "" && at == 1 { // the line with the place was lost, the list has it
		first := placeOf(&listed[0])
		function = first.function()
	}
	lr := r.reg("lr", "ra")
	if lr != nil && at < len(listed) {
		listed[at].Gap = listed[at].Gap || isTrampoline(lr.at.symbol) && !isTrampoline(listed[at].Symbol)
		if samePlace(&listed[at], &lr.at) && listed[at].PC == 0 && lr.known {
			listed[at].PC = lr.value
		}
	}
	if lr == nil || arch.LR == cpu.NoReg || lr.at.symbol == "" || lr.at.function() == function || isTrampoline(lr.at.symbol) ||
		at < len(listed) && samePlace(&listed[at], &lr.at) {
		return listed
	}
	if at < len(listed) && completes(&lr.at, &listed[at]) {
		return listed
	}
	caller := lr.at.listed()
	if lr.known {
		caller.PC = lr.value
	}
	if arch.Name == "arm" && pc.at.symbol != "" && (pc.at.offset != 0 || pc.at.size == 0) {
		if caller.Gap = true; at < len(listed) && !r.trace.form.byFrames {
			return listed
		}
	}
	return slices.Insert(listed, at, caller)
}

// hasBeginnings tells whether a chain has functions' beginnings, as a search for words of the stack gives: MIPS lists what
// dump_stack finds so before Linux 2.6.19. A chain that begins with the function that lists it was not searched for: what
// never returns is called right before a function's beginning.
//
//	[<80300c00>] start_kernel+0x2e8/0x344
//	[<80300564>] unknown_bootoption+0x0/0x340
func hasBeginnings(listed []target.Listed) bool {
	for i := range listed {
		if s := listed[i].Symbol; i == 0 && (s == "show_stack" || s == "dump_stack") {
			return false
		}
		if l := &listed[i]; l.Offset == 0 && l.Size != 0 && (!l.Exact || l.Outermost) && !isReturnedTo(l.Symbol) {
			return true
		}
	}
	return false
}

// doubtSearched doubts a chain that does not begin at the PC, as those of MIPS do: where the PC
// is no code, the kernel lists every word on the stack that points to code
// (arch/mips/kernel/traps.c, show_raw_backtrace).
func doubtSearched(listed []target.Listed, pc *register) {
	if len(listed) == 0 || samePlace(&listed[0], &pc.at) || pc.isNowhere(&listed[0]) {
		return
	}
	for i := range listed {
		listed[i].Doubtful = true
	}
}

// withPC is a chain that begins where the PC is. at is the index of the PC's caller.
func withPC(listed []target.Listed, pc *register, arch *cpu.Arch) (all []target.Listed, at int) {
	switch {
	case len(listed) > 0 && (samePlace(&listed[0], &pc.at) || pc.isNowhere(&listed[0])):
		listed[0].Exact = true
		return listed, 1
	case pc.at.symbol == "" && (!pc.known || pc.value == 0):
		return listed, 0
	case len(listed) > 0 && listed[0].Exact: // ARM names the PC's function first
		listed = listed[1:]
	}
	first := pc.at.listed()
	first.PC, _ = arch.SplitCode(pc.value) // a call through a bad pointer chooses an instruction set, too
	first.Exact = true
	return slices.Insert(listed, 0, first), 1
}

// doubt marks the entries of a chain out of a report that lacks lines, or has another report's.
func (r *record) doubt(listed []target.Listed, b *binaries) {
	_, lacking := missingLine(r)
	mixed, elsewhere := r.isMixed(), lacksPC(r)
	if len(listed) > 0 && (r.lacksBeginning(&listed[0], b.arch) || b.doubtPC(r)) {
		markFirst(listed)
	}
	for i := range listed {
		l := &listed[i]
		l.Gap = l.Gap || lacking || mixed || elsewhere
		l.Searched = l.Searched || mixed || elsewhere
	}
}

// markFirst marks where a chain begins as a gap, stale entries in front among that.
func markFirst(listed []target.Listed) {
	for i := range listed {
		if listed[i].Gap = true; !listed[i].Doubtful {
			return
		}
	}
}

// lacksBeginning tells whether the chain has neither the header that the processor's reports have, nor a PC to begin
// at: it is the rest of a chain into which another report was printed, or with which the log begins. Where a header stands, but
// nothing in front that says whose chain follows, the PC was there. What a checker kept has no header. Where a report
// of MIPS names the process that runs and no PC, show_stack takes its own registers.
func (r *record) lacksBeginning(first *target.Listed, arch *cpu.Arch) bool {
	if r.of != nil || pcOf(r) != nil || samePlace(first, &r.at) || r.what == "KFENCE" && !r.within.begins { // its own stack has no header
		return false
	}
	if r.within.begins {
		return true
	}
	headed := arch.Name != "arm" && !strings.HasPrefix(arch.Name, "riscv")
	return headed && (!r.trace.headed || r.what == "" && !r.process) || r.trace.nowhere || isMIPS(arch) && r.process && first.Symbol != "" && !startsItself(first, arch)
}
