package kernellog

import (
	"strings"

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

// isTraceHeader tells whether a message says that a call chain follows.
func isTraceHeader(text string) bool {
	for _, h := range [...]string{"Call Trace:", "Call trace:", "Backtrace:", "Call Trace (unreliable):"} {
		if strings.HasPrefix(text, h) {
			return true
		}
	}
	return false
}

// take reads an entry of the chain, or what kernels print between entries.
func (t *trace) take(text string) bool {
	if marks, rest := cutMarks(text); marks != "" {
		t.marked = t.marked || t.open
		t.switched = t.switched || strings.Contains(marks, "<EOE>")
		if text = rest; text == "" {
			return t.open
		}
	}
	text = withoutEmpty(text)
	if s, ok := userPlace(text); ok && t.open {
		t.user(s)
		t.registers, t.marked = true, true
		t.narrow = t.narrow || text[0] == 'E'
		return true
	}
	if isPushed(text) {
		t.form.byFrames = t.form.byFrames || len(t.listed) > 0
		return len(t.listed) > 0
	}
	if t.open && len(t.listed) > 0 && isSnip(text) {
		t.missing = true
		return true
	}
	if callee, caller, ok := strings.Cut(text, " from "); ok {
		return t.takePair(callee, caller)
	}
	if t.takeAddresses(text) {
		return true
	}
	if t.open && isCut(text) {
		t.missing = true
		return true
	}
	if p, ok := inlinedIn(text); ok && t.open && len(t.inlined) < maxInlined {
		t.inlined = append(t.inlined, p)
		return true
	}
	return t.takeEntry(text)
}

// takeEntry reads an entry of the chain.
func (t *trace) takeEntry(text string) bool {
	doubtful := false
	s := text
	if addr, after, ok := cutBracketed(s); ok && strings.HasPrefix(after, "? ") {
		doubtful, s = true, "[<"+hexOf(addr)+">] "+after[2:]
	} else if after, ok := strings.CutPrefix(s, "? "); ok {
		doubtful, s = true, after
	}
	p, rest, ok := parsePlace(s)
	rest, more := cutNextEntry(rest)
	if !ok || strings.HasPrefix(s, "(") || !endsEntry(rest) || (p.symbol == "" || p.offset == 0 && p.size == 0) && !t.open {
		return false
	}
	t.marked = t.marked || doubtful
	switch {
	case p.symbol == "" && p.addr != 0 && p.addr < minPage && len(t.listed) > 0: // the size of a function, from a line that was broken
		t.missing = true
	case p.symbol != "" || p.addr != 0:
		t.add(&p, doubtful)
	case len(t.listed) == 0:
		t.nowhere = true
	}
	if more != "" {
		t.takeEntry(more)
	}
	return true
}

// takeAddresses reads several entries on a line, which are addresses alone. Linux 2.4, and 2.6 without the names of its
// functions, lists so whatever word of the stack points to code (arch/mips/kernel/traps.c, show_trace):
//
//	Call Trace:   [<800d6d64>] [<80028a78>] [<80021104>]
//	 [<80034158>] [<8015cccc>] ...
func (t *trace) takeAddresses(text string) bool {
	if !t.open || !strings.HasPrefix(text, "[<") {
		return false
	}
	var list []place
	for rest := text; rest != "" && rest != "..." && len(list) < maxListed; {
		addr, after, ok := cutBracketed(rest)
		if !ok {
			return false
		}
		list, rest = append(list, place{addr: addr, hasAddr: true}), after
	}
	if len(list) < 2 {
		return false
	}
	for i := range list {
		t.add(&list[i], true)
	}
	return true
}

// withoutEmpty is an entry without what pages make of addresses, which they take for HTML's elements:
//
//	[] (mid+0x10/0x20) from [] (top+0x10/0x20)
//	[] ? mid+0x10/0x20
func withoutEmpty(text string) string {
	if !strings.HasPrefix(text, "[]") {
		return text
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "[] ", ""))
}

// isCut tells whether a message is a symbol that the end of a line cut off, as the journal's pager does: "_RINvMs8_NtCsirMa>".
func isCut(text string) bool {
	symbol, cut := strings.CutSuffix(text, ">")
	return cut && isSymbol(symbol)
}

// isPushed tells whether a message shows registers that the function of the entry before had pushed: ARM's unwinder
// over frame pointers prints them (arch/arm/lib/backtrace.S).
//
//	r7:c1af56c0 r6:00000000 r5:bf00071c r4:c1bfd380
func isPushed(text string) bool {
	if !strings.HasPrefix(text, "r") {
		return false
	}
	for _, s := range strings.Fields(text) {
		name, value, _ := strings.Cut(s, ":")
		if !isRegister(name) || digitsOf(value) != 8 {
			return false
		}
	}
	return true
}

// endsEntry tells whether rest may follow an entry: nothing, or the marks of arm64 since
// Linux 6.12, (P) for registers, (F) and (K) for tracers' trampolines, (U), or the line of the source.
func endsEntry(rest string) bool {
	if _, _, behind, ok := cutSource(rest); ok {
		rest = behind
	}
	return rest == "" || strings.HasPrefix(rest, "(") && len(rest) <= len("(FKPU)")
}

// add appends an entry.
func (t *trace) add(p *place, doubtful bool) {
	t.open, t.registers = true, false
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
	for i := len(t.listed) - 1; i >= 0; i-- {
		if l := &t.listed[i]; !l.Doubtful {
			l.Outermost = l.Outermost && l.Symbol != "ret_from_fork"
			return
		}
	}
}

// userPlace reads where user space was: "RIP: 0033:0x47b7a0".
func userPlace(text string) (s string, ok bool) {
	for _, name := range [...]string{"RIP: ", "EIP: "} {
		if s, ok = strings.CutPrefix(text, name); ok {
			return s, true
		}
	}
	return "", false
}

// user reads the registers that x86 shows in the middle of a chain: those of user space,
// or of what an interrupt found running.
//
//	RIP: 0033:0x47b7a0
//	RIP: 0010:delay_tsc+0x31/0xa0
//	EIP: delay_tsc+0x2f/0x90            newer kernels for i386 show no segment
func (t *trace) user(s string) {
	t.shown = true
	selector, rest, ok := cutSelector(s)
	switch {
	case !ok && strings.Contains(s, ":"):
		return
	case selector&3 != 0: // the requested privilege level
		t.outermost()
		return
	}
	if p, _, is := parsePlace(rest); is && (ok || p.symbol != "") {
		t.interrupted, t.missing = true, t.missing || !t.endsInException()
		t.add(&p, false)
	}
}

// endsInException tells whether the last entry that is not doubted is x86's entry code of an exception or an interrupt,
// behind which alone a chain goes on at what was interrupted (arch/x86/include/asm/idtentry.h, entry_32.S, entry_64.S):
// asm_sysvec_apic_timer_interrupt, apic_timer_interrupt, async_page_fault, common_exception.
func (t *trace) endsInException() bool {
	for i := len(t.listed) - 1; i >= 0; i-- {
		if t.listed[i].Doubtful {
			continue
		}
		s := t.listed[i].Symbol
		for _, says := range [...]string{"asm_", "intr", "interrupt", "fault", "exception", "error", "nmi", "int3", "debug", "trap", "invalid", "general_protection",
			"segment", "overflow", "bounds", "device_not_available", "alignment", "machine_check", "xen"} {
			if strings.Contains(s, says) {
				return true
			}
		}
		return false
	}
	return true
}

// entered tells whether the last entry that is not doubted is where x86 enters the kernel by an exception or an
// interrupt. Before Linux 4.11 the registers of what was interrupted are not shown behind, and that function is among
// the doubted words, or nowhere.
func (t *trace) entered() bool {
	for i := len(t.listed) - 1; i >= 0; i-- {
		if l := &t.listed[i]; !l.Doubtful {
			return !l.Outermost && entersKernel(l.Symbol)
		}
	}
	return false
}

// entersKernel tells whether a symbol is entry code of exceptions and interrupts on x86 before Linux 5.8
// (arch/x86/entry/entry_64.S, entry_32.S).
func entersKernel(symbol string) bool {
	switch symbol {
	case "page_fault", "async_page_fault", "general_protection", "invalid_op", "divide_error", "int3", "nmi", "error_code", "ret_from_intr",
		"common_interrupt", "apic_timer_interrupt", "reschedule_interrupt", "call_function_interrupt", "call_function_single_interrupt":
		return true
	}
	return false
}

// outermost marks the last entry that is not doubted as the outermost.
func (t *trace) outermost() {
	for i := len(t.listed) - 1; i >= 0; i-- {
		if l := &t.listed[i]; !l.Doubtful {
			l.Outermost = true
			return
		}
	}
}

// savesRegisters tells whether a function is entered by an exception in the kernel and
// saves all registers of what the exception interrupted.
func savesRegisters(symbol string) bool {
	for _, prefix := range [...]string{"el1_sync", "el1_irq", "el1_fiq", "el1_error", "el1_da", "el1_ia", "el1_sp_pc", "el1_undef", "el1_dbg", "el1_inv", // arm64: entry.S
		"el1h_64_", "el1t_64_", "__bad_stack", // since Linux 5.12
		"__irq_svc", "__dabt_svc", "__pabt_svc", "__und_svc", "__fiq_svc", // ARM: entry-armv.S
		"handle_int", "handle_ri_int", "ret_from_irq", "ret_from_exception", "except_vec", "tlb_do_page_fault", "handle_adel", "handle_ades", // MIPS: genex.S
		"handle_exception"} { // RISC-V: entry.S
		if strings.HasPrefix(symbol, prefix) {
			return !strings.HasSuffix(symbol, "_handler")
		}
	}
	return false
}

// isTrampoline tells whether a function is a tracer's, to which traced functions return: the
// function graph tracer's, and that of return probes. No call stands before it, and who called
// the function is not known.
func isTrampoline(symbol string) bool {
	switch symbol {
	case "return_to_handler", "kretprobe_trampoline", "__kretprobe_trampoline", "arch_rethook_trampoline":
		return true
	}
	return false
}

// isRoot tells whether a function is where kernel stacks begin: at the entry of system calls
// and of exceptions of user space, or of a new thread.
func isRoot(symbol string) bool {
	for _, prefix := range [...]string{"ret_from_fork", "ret_from_kernel_thread", "ret_from_kernel_user_thread",
		"el0t_64_", "el0t_32_", "el0_sync", "el0_irq", "el0_svc_naked", "el0_error_naked", "__primary_switched", "__secondary_switched", // arm64
		"ret_fast_syscall", "ret_slow_syscall", "slow_work_pending", "work_pending", "work_resched", "no_work_pending", "ret_to_user", "__sys_trace_return", "kernel_thread_exit", "__irq_usr", "__dabt_usr", "__pabt_usr", "__und_usr", // ARM
		"syscall_common", "handle_sys", "kernel_entry", "smp_bootstrap", "stack_done", // MIPS
		"entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER", "entry_INT80", "secondary_startup_64", "startup_32_smp", // x86
		"system_call", "int_ret_from_sys_call", "int_signal", "retint_signal", "retint_user", "tracesys", "ia32_sysret", "child_rip", // x86-64 before Linux 4.1
		"sysenter_past_esp", "sysenter_do_call", "resume_userspace", "syscall_call", "kernel_thread_helper", // i386 before Linux 4.1
		"ret_from_syscall", "_start_kernel"} { // RISC-V
		if strings.HasPrefix(symbol, prefix) {
			return !strings.HasSuffix(symbol, "_handler")
		}
	}
	return false
}
