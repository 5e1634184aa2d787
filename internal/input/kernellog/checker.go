package kernellog

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// Checkers of the kernel print stacks that they kept, of other moments and other tasks, in front of the
// report's own stack or behind:
//
//	BUG: KASAN: slab-use-after-free in toy_read+0x5d/0x80 [toy]      WARNING: possible circular locking dependency detected
//	CPU: 1 PID: 715 Comm: cat Not tainted 6.6.0 #1                   -> #1 (toy_b){+.+.}-{3:3}:
//	Call Trace:                                                       __mutex_lock+0x9a/0x870
//	 toy_read+0x5d/0x80 [toy]                                        -> #0 (toy_a){+.+.}-{3:3}:
//	Freed by task 716:                                                lock_acquire+0xd1/0x2d0
//	 toy_free+0x1c/0x40 [toy]                                        CPU: 0 PID: 97 Comm: sh Not tainted 6.6.0 #1
//
// Each is a report of its own. Other stacks end with a colon behind what happened there:
//
//	Uninit was created at:        Preemption disabled at:        Last potentially related work creation:

// keptStacks are messages in front of kept stacks, by how they begin and what else they say
// (mm/kasan/report.c, mm/kfence/report.c, mm/slub.c, mm/page_owner.c, kernel/kcsan/report.c,
// kernel/locking/lockdep.c).
var keptStacks = [...]struct{ begins, says, what string }{
	{"Allocated by task ", "", "allocated"}, {"allocated by task ", "", "allocated"},
	{"Allocated in ", " age=", "allocated"}, {"INFO: Allocated in ", " age=", "allocated"}, {"page last allocated via ", "", "allocated"},
	{"Freed by task ", "", "freed"}, {"freed by task ", "", "freed"}, {"rcu freeing by task ", "", "freed"},
	{"Freed in ", " age=", "freed"}, {"INFO: Freed in ", " age=", "freed"}, {"page last free ", "", "freed"},
	{"Last potentially related work creation:", "", "related work"}, {"Second to last potentially related work creation:", "", "related work"},
	{"-> #", "){", "lock"},
	{"", " bytes by ", "KCSAN"}, // write to 0xffffffffc009a628 of 8 bytes by task 487 on cpu 0:
}

// keptHeading reads the message in front of a kept stack.
func keptHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	for _, k := range keptStacks {
		if strings.HasPrefix(text, k.begins) && (k.begins != "" || strings.HasSuffix(text, ":")) && strings.Contains(text, k.says) {
			h.what = k.what
		}
	}
	if h.what == "" && (!strings.HasSuffix(text, " at:") || holdsLock(text)) {
		return h, false
	}
	h.place(text)
	if _, rest, ok := strings.Cut(text, " cpu="); ok {
		h.cpu = phrases.Leading(rest, h.cpu)
	}
	for _, before := range [...]string{" task ", " pid ", " pid="} {
		if _, rest, ok := strings.Cut(text, before); ok && h.pid < 0 {
			h.pid = phrases.Leading(rest, h.pid)
		}
	}
	return h, true
}

// holdsLock tells whether a message names a lock, and a mail program put the place where it was taken in the next line:
//
//	ffffffff81822520 (console_owner){-.-.}-{0:0}, at:
//	console_lock_spinning_enable+0x3a/0x60
func holdsLock(text string) bool { return strings.HasSuffix(text, "}, at:") }

// closes tells whether a message ends the last of the stacks that a checker shows: KASAN goes on with
// what lies in memory, and names the function of a variable as if it were a frame.
func closes(text string) bool { return strings.HasPrefix(text, "The buggy address belongs to ") }
