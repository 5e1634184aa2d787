package kernellog

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// fromWherePC finds where the chain begins: at the PC that registers tell; else where the list itself begins, if that is at
// the PC on this processor; else where a trap raised a warning.
func fromWherePC(e *evidence, listed []target.Listed) []target.Listed {
	e.pc = pcOf(e.record)
	if e.pc != nil {
		return listed
	}
	if len(listed) > 0 {
		listed[0].Exact = listed[0].Exact || e.binaries.machine.listsItself(&listed[0])
		if processorOf(e.record).has(listsAtLostPC) && e.reg("lr", "sp") != nil {
			e.pc = &register{name: "pc", at: placeOf(&listed[0])}
		}
	}
	if e.pc == nil && trapsToWarn(e.record) {
		e.pc = &register{name: "pc", at: e.at, value: e.at.addr, known: e.at.hasAddr}
	}
	return listed
}

// doubtWithoutPC doubts a chain of a kernel that lists each word of the stack where it cannot unwind, in a report that has
// lost its PC: doubtSearched cannot tell whether this one was searched for.
func doubtWithoutPC(e *evidence, listed []target.Listed) []target.Listed {
	if e.pc == nil && e.has(searches) && (e.reg("$31", "ra", "$29") != nil || hasBeginnings(listed)) {
		for i := range listed {
			listed[i].Searched = true
		}
	}
	return listed
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

// fromCallNowhere begins a chain at the call that led to no function. ARM names the function of the PC first, and where no
// function is at the PC, the one that made the call, which the link register points to.
func fromCallNowhere(e *evidence, listed []target.Listed) []target.Listed {
	if e.pc == nil || e.pc.at.symbol != "" || len(listed) == 0 || !listed[0].Exact || listed[0].Symbol == "" {
		return listed
	}
	e.pc = nil
	if lr := e.reg("lr"); lr != nil && lr.at.symbol == listed[0].Symbol {
		listed[0] = lr.at.listed()
		listed[0].PC = lr.value
	}
	return listed
}

// doubtSearched doubts a chain that does not begin at the PC, as those of MIPS do: where the PC
// is no code, the kernel lists every word on the stack that points to code
// (arch/mips/kernel/traps.c, show_raw_backtrace).
func doubtSearched(e *evidence, listed []target.Listed) []target.Listed {
	if e.pc == nil || !e.has(searches) || len(listed) == 0 || samePlace(&listed[0], &e.pc.at) || e.pc.isNowhere(&listed[0]) {
		return listed
	}
	for i := range listed {
		listed[i].Doubtful = true
	}
	return listed
}

// withPC begins the chain where the PC is. The kernel's list begins there on some processors, at the caller on others.
func withPC(e *evidence, listed []target.Listed) []target.Listed {
	pc := e.pc
	if pc == nil {
		return listed
	}
	e.caller = 1
	switch {
	case len(listed) > 0 && (samePlace(&listed[0], &pc.at) || pc.isNowhere(&listed[0])):
		listed[0].Exact = true
		return listed
	case pc.at.symbol == "" && (!pc.known || pc.value == 0):
		e.caller = 0
		return listed
	case len(listed) > 0 && listed[0].Exact: // ARM names the PC's function first
		listed = listed[1:]
	}
	first := pc.at.listed()
	first.PC, _ = e.binaries.arch.SplitCode(pc.value) // a call through a bad pointer chooses an instruction set, too
	first.Exact = true
	return slices.Insert(listed, 0, first)
}

// withLinkValue takes what the link register says of the entry behind the PC: its address, where the list has a symbol
// alone; and that an entry is missing, where the register points to a tracer's trampoline.
func withLinkValue(e *evidence, listed []target.Listed) []target.Listed {
	lr := e.reg("lr", "ra")
	if e.pc == nil || lr == nil || e.caller >= len(listed) {
		return listed
	}
	l := &listed[e.caller]
	l.Gap = l.Gap || isTrampoline(lr.at.symbol) && !isTrampoline(l.Symbol)
	if samePlace(l, &lr.at) && l.PC == 0 && lr.known {
		l.PC = lr.value
	}
	return listed
}

// withLinkRegister adds the caller that only the link register has. Where the PC's function had saved no link register, the
// list lacks the function's caller: on arm64, leaf_deref is listed with mid_b behind it while "lr : mid_c+0x2c/0x3c" says
// who called. A link register within the PC's own function is left over from a call that came back; one in a tracer's
// trampoline does not say who called.
//
// ARM's functions come back by loading the PC from the stack, so that the register may point to where a function called
// that has come back long since. Its unwinder by tables knows the callers of leaf functions, that by frame pointers does not:
//
//	PC is at mutex_lock_toy+0x54/0xb18
//	LR is at lock_is_held_toy+0x80/0x138
//	[<c0afc920>] (mutex_lock_toy) from [<c0afd400>] (toy_probe+0x1c/0x24)
func withLinkRegister(e *evidence, listed []target.Listed) []target.Listed {
	pc, lr, at := e.pc, e.reg("lr", "ra"), e.caller
	if pc == nil || lr == nil || e.binaries.arch.LR == cpu.NoReg || lr.at.symbol == "" || isTrampoline(lr.at.symbol) {
		return listed
	}
	function := pc.at.function()
	if function == "" && at == 1 { // the line with the place was lost, the list has it
		first := placeOf(&listed[0])
		function = first.function()
	}
	if lr.at.function() == function || at < len(listed) && (samePlace(&listed[at], &lr.at) || completes(&lr.at, &listed[at])) {
		return listed
	}
	caller := lr.at.listed()
	if lr.known {
		caller.PC = lr.value
	}
	if e.has(pairs) && pc.at.symbol != "" && (pc.at.offset != 0 || pc.at.size == 0) {
		if caller.Gap = true; at < len(listed) && !e.trace.form.byFrames {
			return listed
		}
	}
	return slices.Insert(listed, at, caller)
}
