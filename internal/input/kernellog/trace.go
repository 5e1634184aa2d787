package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// trace is the call chain that a report lists.
type trace struct {
	open   bool // the line of the report that was read last is a header or an entry
	listed []target.Listed
	between
	// missing: messages were lost right before the next entry; lost: messages were lost before
	// some entry.
	missing, lost bool
	// shown: registers of user space or of interrupted code were shown within the chain, and their code follows.
	shown bool
	// registers: the last line with a place showed where those registers' code stood, and they follow.
	registers bool
	// headed: a header was read, or ARM's unwinder wrote the chain, which has no header before
	// Linux 5.14.
	headed bool
	form   form
	// inlined are the functions that were inlined into that of the next entry, innermost first.
	inlined []target.Place
	// foreign: an entry or a register belongs to another chain; beyond: an entry follows the outermost
	// entry of the chain.
	foreign, beyond bool
	clues
	// nowhere: the chain begins at address 0, which a call through a bad pointer led to.
	nowhere bool
}

// between is what lies between the last entry and the next.
type between struct {
	// interrupted: the last entry is an exception's entry code, so that the next entry is the
	// place that was interrupted.
	interrupted bool
	// hooked: the last entry is a tracer's return trampoline, which stands for a frame whose own
	// return address no report prints.
	hooked bool
	// switched: the chain came from a stack of exceptions, and no entry of what was interrupted was read since.
	switched bool
	// zero: address 0 followed the last entry: no caller is known, as of a task that runs.
	zero bool
}

// form is in which way a chain is written.
type form struct {
	// paired: entries name callee and caller, as ARM's do; lower: the header is "Call trace:", as arm64's is, and
	// ARM's since Linux 5.14.
	paired, lower bool
	// byFrames: ARM's unwinder went over frame pointers.
	byFrames bool
}

// maxInlined bounds the functions that are inlined at one place.
const maxInlined = 256

// clues tell of which processor a report without registers is.
type clues struct {
	// marked: the kernel marked where the chain changes stacks, doubted an entry or showed registers within the chain,
	// as x86's alone do; narrow: EIP was among those.
	marked, narrow bool
	// hasBIOS: the machine has one; bios: and the header of the chain is not arm64's.
	hasBIOS, bios bool
	// repeated: x86's PC was read behind the chain, and nowhere else.
	repeated bool
}

// maxListed bounds the entries of a report: no stack has as many frames.
const maxListed = 4096

// isTraceHeader tells whether a message says that a call chain follows. Firmware's has the chain in the same line: "Backtrace: 0x400d1234".
func isTraceHeader(text string) bool {
	if rest, ok := strings.CutPrefix(text, "Backtrace:"); ok && strings.HasPrefix(strings.TrimLeft(rest, " "), "0x") {
		return false
	}
	return phrases.Begins(text, "Call Trace:", "Call trace:", "Backtrace:", "Call Trace (unreliable):")
}

// add appends an entry.
func (t *trace) add(p *place, doubtful bool) {
	t.open, t.registers, t.zero = true, false, false
	if len(t.listed) >= maxListed {
		return
	}
	l := p.listed()
	l.Doubtful, l.Outermost, l.Gap = doubtful || isTrampoline(p.symbol), isRoot(p.symbol) || t.servesUser() || t.beginsThread(p.symbol), t.hooked || t.missing
	l.Gap = l.Gap || !doubtful && (!t.interrupted && t.entered() || t.switched)
	l.Exact = !doubtful && (t.interrupted || isTrampoline(p.symbol) || l.Outermost && p.offset == 0) // ARM: lr = ret_fast_syscall
	if l.Outermost && l.Symbol == "ret_from_fork_asm" {
		t.callsFork()
	}
	l.Inlined = t.inlined
	t.listed, t.missing, t.inlined = append(t.listed, l), false, nil
	if !doubtful {
		t.switched = false
		t.interrupted, t.hooked = savesRegisters(p.symbol), isTrampoline(p.symbol)
	}
}

// servesUser tells whether the last entry serves system calls of programs, which RISC-V's entry code alone calls (since
// Linux 6.5): handle_exception, which serves exceptions of the kernel as well, ret_from_exception, or a label within.
func (t *trace) servesUser() bool {
	n := len(t.listed)
	return n > 0 && t.listed[n-1].Symbol == "do_trap_ecall_u" && !t.listed[n-1].Doubtful
}

// beginsThread tells whether entry is where RISC-V's threads of the kernel return to before Linux 6.4, and its callee is
// what such a thread begins with.
func (t *trace) beginsThread(entry string) bool {
	n := len(t.listed)
	return entry == "ret_from_exception" && n > 0 && (t.listed[n-1].Symbol == "kthread" || t.listed[n-1].Symbol == "kernel_init")
}

// callsFork says of ret_from_fork that it has a caller: on x86 since Linux 6.6 a function in C, which
// ret_from_fork_asm calls. Doubtful entries may stand between.
func (t *trace) callsFork() {
	if l := t.last(); l != nil {
		l.Outermost = l.Outermost && l.Symbol != "ret_from_fork"
	}
}

// last is the last entry that is not doubted, nil for none.
func (t *trace) last() *target.Listed {
	for i := len(t.listed) - 1; i >= 0; i-- {
		if !t.listed[i].Doubtful {
			return &t.listed[i]
		}
	}
	return nil
}

// endsInException tells whether the last entry that is not doubted is x86's entry code of an exception or an interrupt,
// behind which alone a chain goes on at what was interrupted (arch/x86/include/asm/idtentry.h, entry_32.S, entry_64.S):
// asm_sysvec_apic_timer_interrupt, apic_timer_interrupt, async_page_fault, common_exception.
func (t *trace) endsInException() bool {
	l := t.last()
	return l == nil || slices.ContainsFunc([]string{"asm_", "intr", "interrupt", "fault", "exception", "error", "nmi", "int3", "debug", "trap", "invalid", "general_protection",
		"segment", "overflow", "bounds", "device_not_available", "alignment", "machine_check", "xen"}, func(s string) bool { return strings.Contains(l.Symbol, s) })
}

// entered tells whether the last entry that is not doubted is where x86 enters the kernel by an exception or an
// interrupt. Before Linux 4.11 the registers of what was interrupted are not shown behind, and that function is among
// the doubted words, or nowhere.
func (t *trace) entered() bool {
	l := t.last()
	return l != nil && !l.Outermost && entersKernel(l.Symbol)
}

// outermost marks the last entry that is not doubted as the outermost.
func (t *trace) outermost() {
	if l := t.last(); l != nil {
		l.Outermost = true
	}
}

// ended tells whether the last entry is the outermost frame, goesOn whether it is a frame that has a
// caller. A doubted one is of an earlier system call: "? entry_SYSCALL_64_fastpath+0x23/0x9a" may stand anywhere.
func (t *trace) ended() bool {
	n := len(t.listed)
	return n > 0 && t.listed[n-1].Outermost && !t.listed[n-1].Doubtful
}

func (t *trace) goesOn() bool {
	n := len(t.listed)
	return n > 0 && !t.listed[n-1].Outermost && !t.listed[n-1].Doubtful && !t.zero && !t.mayEnd()
}

// mayEnd tells whether the last entry is where chains may end although others go on there: where a processor starts,
// at code that no symbol names, as that which runs before the kernel's addresses do, and where arm64 before Linux 5.6 enters
// the kernel, which are functions in C since.
//
//	[<c014c650>] (cpu_startup_entry) from [<40101650>] (0x40101650)
//	secondary_start_kernel+0x15c/0x190
//	el0_svc+0x8/0xc
func (t *trace) mayEnd() bool {
	n := len(t.listed)
	if n == 0 {
		return false
	}
	switch t.listed[n-1].Symbol {
	case "", "start_kernel", "secondary_start_kernel", "el0_svc", "el0_svc_compat", "el0_da", "el0_ia", "el0_dbg", "el0_undef":
		return true
	}
	return false
}

// hasLongAddresses tells whether no address of the chain is one of 32 bits: SuperH and OpenRISC print "Call trace:", too.
func (t *trace) hasLongAddresses() bool {
	for i := range t.listed {
		if pc := t.listed[i].PC; pc != 0 && pc>>32 == 0 {
			return false
		}
	}
	return true
}
