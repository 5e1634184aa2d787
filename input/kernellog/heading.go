package kernellog

import (
	"strconv"
	"strings"
)

// heading is what the first lines of a report tell: the report's kind, and the processor, task and
// kernel that it comes from.
type heading struct {
	// what is the kind of the report in a word or two: "oops", "warning", "soft lockup".
	what string
	// says is the message that told the kind.
	says string
	// crash: the kernel or the task did not go on.
	crash   bool
	cpu     int // −1 unknown
	pid     int // −1 unknown
	comm    string
	release string // of the kernel: "6.1.0-50-arm64"
	process bool   // the line "CPU: 0 PID: 96 Comm: sh" was read, which follows those that tell the kind
	// at is the place that a warning names: "WARNING: CPU: 0 PID: 96 at fs/x.c:59 warn_c+0x4c/0x60".
	at place
	// arm: the message ends in the name of the instruction set, as ARM's do (arch/arm/kernel/traps.c, __die).
	arm bool
}

// kinds are the messages by which reports begin. The first that fits counts.
var kinds = [...]struct {
	says  string
	what  string
	crash bool
}{
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
	{"general protection fault", "oops", true},
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

// taskDump begins the task of each processor that RCU waits for.
const taskDump = "Task dump for CPU "

// heads reads a message that begins a report or says more of one; ok is false where the
// message is another. fresh: the message stands at the very start of a report.
func heads(text string) (h heading, fresh, ok bool) {
	h.cpu, h.pid = -1, -1
	if strings.HasPrefix(text, "------------[ cut here") || strings.HasPrefix(text, "8<--- cut here") {
		return h, true, true
	}
	if strings.HasPrefix(text, "NMI backtrace for cpu ") && strings.Contains(text, " skipped: ") { // idling at default_idle+0x1e/0x130
		return h, false, false
	}
	if h, ok := taskHeading(text); ok {
		return h, true, true
	}
	if h, ok := oldTaskHeading(text); ok {
		return h, true, true
	}
	if h, ok := hungHeading(text); ok {
		return h, true, true
	}
	if h, ok := stoppedHeading(text); ok {
		return h, true, true
	}
	for _, k := range kinds {
		if i := strings.Index(text, k.says); i >= 0 && i <= maxBeforeKind {
			h.what, h.says, h.crash = k.what, text[i:], k.crash
			h.arm = k.says == "Internal error:" && (strings.HasSuffix(text, " ARM") || strings.HasSuffix(text, " THUMB2"))
			h.place(text)
			return h, false, true
		}
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

// place reads where a message says that the report is of: "CPU#1 stuck for 22s! [busybox:95]",
// "for cpu 0", "WARNING: CPU: 0 PID: 96 at"; Linux 7 says "WARNING: fs/x.c:59 at warn_c+0x16/0x30 [toy], CPU#1: sh/95".
func (h *heading) place(text string) {
	for _, before := range [...]string{"CPU#", "for cpu ", "for CPU ", "on cpu ", "sysrq: CPU", "CPU: ", "CPU "} {
		if _, rest, ok := strings.Cut(text, before); ok {
			h.cpu = leadingNumber(rest, h.cpu)
			break
		}
	}
	if _, rest, ok := strings.Cut(text, " PID: "); ok {
		h.pid = leadingNumber(rest, h.pid)
		if _, rest, ok = strings.Cut(rest, " at "); ok {
			h.raisedAt(rest)
		}
	}
	if rest, ok := strings.CutPrefix(text, "WARNING: at "); ok { // before Linux 3.11
		h.raisedAt(rest)
	}
	if where, who, ok := strings.Cut(text, ", CPU#"); ok {
		h.task(who)
		_, where, _ = strings.Cut(where, " at ")
		h.at, _, _ = parsePlace(where)
	}
	if i := strings.LastIndexByte(text, '['); i >= 0 && strings.HasSuffix(text, "]") {
		if comm, pid, ok := cutLast(text[i+1:len(text)-1], ':'); ok && leadingNumber(pid, -1) >= 0 {
			h.comm, h.pid = comm, leadingNumber(pid, -1)
		}
	}
	if _, rest, ok := strings.Cut(text, " by task "); ok && h.pid < 0 {
		h.pid = leadingNumber(rest, h.pid)
	}
}

// raisedAt reads the place of a warning, which follows a file and a line if the kernel knows them
// (CONFIG_DEBUG_BUGVERBOSE): "kernel/toy.c:59 warn_c+0x16/0x30 [toy]".
func (h *heading) raisedAt(where string) {
	if h.at, _, _ = parsePlace(where); h.at.symbol == "" {
		_, where = cutWord(where)
		h.at, _, _ = parsePlace(where)
	}
}

// task reads "1: sh/95" behind "CPU#"; a name may have slashes, kworker/1:2.
func (h *heading) task(who string) {
	_, task, _ := strings.Cut(who, ": ")
	if comm, pid, ok := cutLast(task, '/'); ok && leadingNumber(pid, -1) >= 0 {
		h.comm, h.pid = comm, leadingNumber(pid, -1)
	}
}

// processHeading reads who was running:
//
//	CPU: 0 PID: 95 Comm: busybox Tainted: G        W  OE      6.1.0-50-arm64 #1  Debian 6.1.176-1
//	CPU: 0 UID: 0 PID: 95 Comm: busybox Not tainted 6.11.0 #1                     (Linux 6.11)
//	Pid: 95, comm: busybox Tainted: G        W    3.2.0-4-amd64 #1 Debian         (before Linux 3.10)
//	CPU: 0    Tainted: G        W     (3.0.31 #1)                                 (ARM before Linux 3.10)
func processHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	rest, old := strings.CutPrefix(text, "Pid: ")
	if !old {
		if rest, ok = strings.CutPrefix(text, "CPU: "); !ok {
			return h, false
		}
		h.cpu = leadingNumber(rest, -1)
		_, who, ok := strings.Cut(rest, "PID: ")
		if !ok && h.cpu >= 0 && strings.Contains(rest, "ainted") && strings.HasSuffix(rest, ")") {
			_, kernel, _ := cutLast(rest, '(')
			h.process, h.release = true, releaseIn(kernel)
			return h, h.release != ""
		}
		if rest = who; !ok || h.cpu < 0 {
			return h, false
		}
	}
	h.process = true
	h.pid = leadingNumber(rest, -1)
	_, comm, ok := strings.Cut(rest, "omm: ") // Comm, comm
	if !ok && old {
		return h, false
	}
	if ok {
		end := len(comm)
		for _, behind := range [...]string{" Kdump: loaded", " Tainted:", " Not tainted"} {
			if i := strings.Index(comm, behind); i >= 0 {
				end = min(end, i)
			}
		}
		end = min(end, len(strings.TrimSuffix(comm, " Not"))) // mail programs cut there
		h.comm = strings.TrimSpace(comm[:end])
		h.release = releaseIn(comm[end:])
	}
	return h, true
}

// processIn reads the process of "Process busybox (pid: 95, threadinfo=66fb2bf2, task=55b20d3f, tls=00eb34e0)", of MIPS, ARM
// and, before Linux 5.11, arm64; and of x86 before Linux 3.9.
func processIn(text string) (comm string, pid int, ok bool) {
	rest, ok := strings.CutPrefix(text, "Process ")
	if !ok {
		return "", 0, false
	}
	comm, rest, ok = strings.Cut(rest, " (pid: ")
	pid = leadingNumber(rest, -1)
	return comm, pid, ok && pid >= 0
}

// releaseIn finds the kernel's release in the rest of that line: the word before " #1", before Linux 2.6.13 the last.
func releaseIn(s string) string {
	i := strings.Index(s, " #")
	if i < 0 && (strings.Contains(s, " 2.6.") || strings.Contains(s, " 2.4.")) {
		i = len(s)
	}
	if i < 0 {
		return ""
	}
	words := strings.Fields(s[:i])
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// title is how the report is called: "oops: CPU 0 PID 95 busybox".
func (h *heading) title() string {
	s := h.what
	if s == "" {
		s = "stack"
	}
	var who []string
	if h.cpu >= 0 {
		who = append(who, "CPU "+strconv.Itoa(h.cpu))
	}
	if h.pid >= 0 {
		who = append(who, "PID "+strconv.Itoa(h.pid))
	}
	if h.comm != "" {
		who = append(who, h.comm)
	}
	if len(who) == 0 {
		return s
	}
	return s + ": " + strings.Join(who, " ")
}

// introduces tells whether o says more of the report that h heads: the detector of hung tasks
// and RCU show the task that they are about.
func (h *heading) introduces(o *heading) bool {
	return o.what == "task" && (h.what == "hung task" || h.what == "RCU stall")
}

// precedes tells whether o is of a later report than h heads, which shows no stack. A panic's message is the last
// before its stack; a complaint like "BUG: Bad rss-counter state" has none, and what crashes says more.
func (h *heading) precedes(o *heading) bool {
	return !o.process && o.what != "" && (h.what == "panic" && o.what != "panic" || h.what == "BUG" && !h.crash && o.crash)
}

// add completes h with what another line says of the same report.
func (h *heading) add(o *heading) {
	if h.what == "" {
		h.what, h.says, h.crash = o.what, o.says, o.crash
	}
	if o.cpu >= 0 {
		h.cpu = o.cpu
	}
	if o.pid >= 0 {
		h.pid = o.pid
	}
	if o.comm != "" {
		h.comm = o.comm
	}
	if o.release != "" {
		h.release = o.release
	}
	if o.at.symbol != "" {
		h.at = o.at
	}
	h.process, h.arm = h.process || o.process, h.arm || o.arm
}

// leadingNumber reads the decimal number that s begins with, else it returns none.
func leadingNumber(s string, none int) int {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if n, err := strconv.Atoi(s[:end]); err == nil {
		return n
	}
	return none
}

// cutLast cuts s at its last sep.
func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
