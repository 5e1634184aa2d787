package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
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
	why     []string // what more is said of the access that failed
	cpu     int      // −1 unknown
	pid     int      // −1 unknown
	comm    string
	release string // of the kernel: "6.1.0-50-arm64"
	process bool   // the line "CPU: 0 PID: 96 Comm: sh" was read, which follows those that tell the kind
	// at is the place that a warning names: "WARNING: CPU: 0 PID: 96 at fs/x.c:59 warn_c+0x4c/0x60".
	at place
	// arm: the message ends in the name of the instruction set, as ARM's do (arch/arm/kernel/traps.c, __die).
	arm bool
	// tracer: the chain is no report's.
	tracer bool
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
	h.crash = h.crash || o.what == "panic" // panic_on_warn
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

// reason is the message without what changes from report to report.
func (h *heading) reason() string {
	s := h.says
	for _, before := range [...]string{", epc ==", " at virtual address", ", address:", " for address", " at address", " (0x", " at 0x", "[#", " by CPU", " CPU:", " CPU#"} {
		if i := strings.Index(s, before); i > 0 {
			s = s[:i]
		}
	}
	if i := strings.Index(s, " at "); i > 0 {
		at, _ := cutWord(strings.TrimLeft(s[i+len(" at "):], " "))
		if n := digitsOf(at); n == 8 || n == 16 || at == "(null)" {
			s = s[:i]
		}
	}
	return strings.TrimRight(s, " :,")
}

// access adds what x86 says of an access that failed (arch/x86/mm/fault.c, show_fault_oops):
//
//	#PF: supervisor write access in kernel mode
//	#PF: error_code(0x0002) - not-present page
func (h *heading) access(text string) bool {
	words, ok := strings.CutPrefix(text, "#PF: ")
	if !ok {
		return false
	}
	if _, why, is := strings.Cut(words, ") - "); is {
		words = why
	}
	if len(h.why) < maxWhy {
		h.why = append(h.why, words)
	}
	return true
}

// maxWhy bounds the messages that say more of an access.
const maxWhy = 4

// place reads where a message says that the report is of: "CPU#1 stuck for 22s! [busybox:95]",
// "for cpu 0", "WARNING: CPU: 0 PID: 96 at"; Linux 7 says "WARNING: fs/x.c:59 at warn_c+0x16/0x30 [toy], CPU#1: sh/95".
func (h *heading) place(text string) {
	for _, before := range [...]string{"CPU#", "for cpu ", "for CPU ", "on cpu ", "sysrq: CPU", "CPU: ", "CPU "} {
		if _, rest, ok := strings.Cut(text, before); ok {
			h.cpu = phrases.Leading(rest, h.cpu)
			break
		}
	}
	if _, rest, ok := strings.Cut(text, " PID: "); ok {
		h.pid = phrases.Leading(rest, h.pid)
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
		if comm, pid, ok := cutLast(text[i+1:len(text)-1], ':'); ok && phrases.Leading(pid, -1) >= 0 {
			h.comm, h.pid = comm, phrases.Leading(pid, -1)
		}
	}
	if _, rest, ok := strings.Cut(text, " by task "); ok && h.pid < 0 {
		h.pid = phrases.Leading(rest, h.pid)
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
	if comm, pid, ok := cutLast(task, '/'); ok && phrases.Leading(pid, -1) >= 0 {
		h.comm, h.pid = comm, phrases.Leading(pid, -1)
	}
}

// fault is what a report says of a bad access.
type fault struct {
	addr  uint64
	known bool
}

// faultIn reads the address of a bad access: "at virtual address 00000010",
// "address: 0000000000000010", "fault for address: 0xffff…", "at 0x00000010".
func faultIn(says string) (f fault) {
	if strings.Contains(says, " NULL pointer ") && strings.HasSuffix(says, " (null)") { // before Linux 4.19
		return fault{known: true}
	}
	for _, before := range [...]string{"virtual address ", "address: ", "at address ", " at "} {
		if _, rest, ok := strings.Cut(says, before); ok {
			digits := rest
			if i := strings.IndexAny(rest, " ,"); i >= 0 {
				digits = rest[:i]
			}
			if n := digitsOf(strings.TrimPrefix(digits, "0x")); n == 8 || n == 16 {
				f.addr, f.known = phrases.Hex(digits)
				return f
			}
		}
	}
	return f
}
