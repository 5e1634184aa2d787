package kernellog

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// kind is a message by which reports begin.
type kind struct {
	says  string
	what  string
	crash bool
}

// kinds are those messages. The first that fits counts.
var kinds = [...]kind{
	{"BUG: KASAN:", "KASAN", false},
	{"BUG: KASan:", "KASAN", false}, // before Linux 4.4
	{"BUG: KMSAN:", "KMSAN", false},
	{"BUG: KFENCE:", "KFENCE", false},
	{"BUG: KCSAN:", "KCSAN", false},
	{"UBSAN:", "UBSAN", false},
	{"BUG: soft lockup", "soft lockup", false},
	{"BUG: workqueue lockup", "workqueue lockup", false},
	{"Watchdog detected hard LOCKUP", "hard lockup", false},
	{"Watchdog CPU:", "hard lockup", false},
	{"INFO: rcu", "RCU stall", false},
	{"detected stalls on CPUs", "RCU stall", false},
	{"self-detected stall on CPU", "RCU stall", false},
	{"detected expedited stalls", "RCU stall", false},
	{taskDump, "RCU stall", false},
	{"BUG: scheduling while atomic", "scheduling while atomic", false},
	{"BUG: sleeping function called", "sleeping while atomic", false},
	{"BUG: spinlock", "spinlock", false},
	{"BUG: kernel NULL pointer", "oops", true},
	{"BUG: unable to handle", "oops", true},
	{"BUG: stack guard page", "stack overflow", true},
	{"BUG: TASK stack guard page", "stack overflow", true},
	{"Unable to handle kernel", "oops", true},
	{"Unable to handle page fault", "oops", true},
	{"Unhandled fault:", "oops", true},
	{"Unhandled kernel unaligned access", "oops", true},
	{"Data bus error, epc ==", "oops", true}, // MIPS: arch/mips/kernel/traps.c, do_be
	{"Instruction bus error, epc ==", "oops", true},
	{"Insufficient stack space to handle exception", "stack overflow", true},
	{"Kernel stack overflow", "stack overflow", true},
	{"kernel stack overflow", "stack overflow", true},
	{"kernel BUG at", "BUG", true},
	{"Kernel BUG at", "BUG", true},
	{"Kernel bug detected", "BUG", true},
	{"Kernel panic - not syncing", "panic", true},
	{"Kernel panic: ", "panic", true}, // before Linux 2.6.9
	{"general protection fault:", "oops", true},
	{"general protection fault,", "oops", true},
	{"general protection fault for ", "oops", true}, // FreeBSD's has none of these
	{"stack segment:", "oops", true},
	{"invalid opcode:", "oops", true},
	{"divide error:", "oops", true},
	{"double fault:", "double fault", true},
	{"PANIC: double fault", "double fault", true},
	{"SError Interrupt on CPU", "SError", true},
	{"Bad mode in ", "oops", true},
	{"Unhandled exception: IPSR", "oops", true}, // Cortex-M: arch/arm/kernel/entry-v7m.S
	{"Internal error:", "oops", true},
	{"Oops", "oops", true},
	{"WARNING: ", "warning", false},
	{"[ INFO: ", "warning", false}, // of locks, before Linux 4.12
	{"page allocation failure", "allocation failure", false},
	{"invoked oom-killer:", "out of memory", false},
	{"NMI backtrace for cpu", "backtrace", false},
	{"potentially unexpected fatal signal", "fatal signal", false},
	{": unhandled page fault", "user fault", false}, // ARM; arm64 before Linux 4.17, and since
	{": unhandled level ", "user fault", false},
	{": unhandled exception: ", "user fault", false},
	{"sysrq: Show Regs", "registers", false},
	{"sysrq: CPU", "backtrace", false},
	{"BUG: ", "BUG", false},
}

// kindPhrases are what the kinds say.
var kindPhrases = phrases.List{Phrases: func() []string { return phrases.Of(kinds[:], func(k *kind) string { return k.says }) }}

// taskDump begins the task of each processor that RCU waits for.
const taskDump = "Task dump for CPU "

// headingOf reads a message that begins a report or says more of one, or the line that names the process, which follows what
// tells the kind, or begins a stack that nobody asked for by a crash (dump_stack).
func headingOf(text string) (h heading, fresh, ok bool) {
	if h, ok := processHeading(text); ok {
		return h, false, true
	}
	return heads(text)
}

// heads reads a message that begins a report or says more of one; ok is false where the
// message is another. fresh: the message stands at the very start of a report.
func heads(text string) (h heading, fresh, ok bool) {
	h.cpu, h.pid = -1, -1
	if pid, ok := strings.CutPrefix(text, "=="); ok && pid != "" && pid[0]-'0' <= 9 { // a sanitizer's: ==2304==*** WARNING: …
		return h, false, false
	}
	if strings.HasPrefix(text, "------------[ cut here") || strings.HasPrefix(text, "8<--- cut here") {
		return h, true, true
	}
	if strings.HasPrefix(text, "NMI backtrace for cpu ") && strings.Contains(text, " skipped: ") { // idling at default_idle+0x1e/0x130
		return h, false, false
	}
	for _, read := range [...]func(text string) (heading, bool){taskHeading, hungHeading, stoppedHeading} {
		if h, ok := read(text); ok {
			return h, true, true
		}
	}
	if i := kindPhrases.Within(text, maxBeforeKind); i >= 0 {
		k := &kinds[i]
		h.what, h.says, h.crash = k.what, text[strings.Index(text, k.says):], k.crash
		h.arm = k.says == "Internal error:" && (strings.HasSuffix(text, " ARM") || strings.HasSuffix(text, " THUMB2"))
		h.place(text)
		return h, false, true
	}
	if strings.HasPrefix(text, "BUG ") && strings.Contains(text, "ainted") { // BUG kmalloc-64 (Not tainted): Poison overwritten
		h.what, h.says = "slab", text
		return h, false, true
	}
	if says, ok := diesOnMIPS(text); ok {
		h.what, h.says, h.crash = "oops", says, true
		return h, false, true
	}
	return h, false, false
}

// diesOnMIPS reads the message of an exception of MIPS (arch/mips/kernel/traps.c, die), Linux 2.4's the second:
//
//	Break instruction in kernel code[#1]:
//	Reserved instruction in kernel code in traps.c::do_ri, line 652:
func diesOnMIPS(text string) (says string, ok bool) {
	text = strings.TrimRight(text, " ")
	if i := strings.Index(text, "[#"); i > 0 && strings.HasSuffix(text, "]:") {
		return text[:i], true
	}
	if head, tail, ok := strings.Cut(text, ".c::"); ok && strings.Contains(tail, ", line ") && strings.HasSuffix(text, ":") {
		if i := strings.LastIndex(head, " in "); i > 0 {
			return head[:i], true
		}
	}
	return "", false
}

// maxBeforeKind bounds what stands before the message that tells the kind: "watchdog: ",
// "NMI watchdog: ", "CPU 0 ", "rcu: ".
const maxBeforeKind = 24
