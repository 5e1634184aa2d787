package kernellog

import (
	"strings"
	"testing"
)

// keptLogs are reports of the kernel's checkers, which show several stacks. PROCESS stands for the line
// that names the process, HERE for the chain of the report itself.
var keptLogs = []struct{ name, log, want string }{
	{"KASAN", `==================================================================
BUG: KASAN: slab-use-after-free in toy_read+0x5d/0x80 [toy]
Read of size 4 at addr ffff888106b8a040 by task sh/7

PROCESS
HERE

Allocated by task 14:
 kasan_save_stack+0x33/0x60
 toy_open+0x2c/0x60 [toy]

Freed by task 15:
 kasan_save_stack+0x33/0x60
 toy_free+0x1c/0x40 [toy]

Last potentially related work creation:
 kasan_save_stack+0x33/0x60
 call_rcu+0x2d/0x140

The buggy address belongs to stack of task sh/7
 and is located at offset 32 in frame:
 toy_bounds+0x0/0x150 [toy]

This frame has 1 object:
 [32, 40) 'buffer'

The buggy address belongs to the physical page:
flags: 0x200000000000800(slab|node=0|zone=2)
raw: 0200000000000800 ffff888100042640 dead000000000100 dead000000000122
page last allocated via order 0, migratetype Unmovable, gfp_mask 0xcc0, pid 16, tgid 16 (sh), ts 100
 post_alloc_hook+0x2d/0x140
page last free pid 17 tgid 17 stack trace:
 free_unref_page+0x2d/0x140

Memory state around the buggy address:
 ffff888106b89f00: fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb
>ffff888106b8a000: fc fc fc fc fc fc fc fc fa fb fb fb fb fb fb fb
==================================================================
`, `KASAN: WHO|CHAIN
allocated: PID 14|kasan_save_stack toy_open
freed: PID 15|kasan_save_stack toy_free
related work|kasan_save_stack call_rcu
allocated: PID 16|post_alloc_hook
freed: PID 17|free_unref_page
`},
	{"KFENCE", `BUG: KFENCE: use-after-free read in toy_peek+0xa6/0x234 [toy]

Use-after-free read at 0xffff8c3f2e291fff (in kfence-#72):
 toy_peek+0xa6/0x234 [toy]
 kthread+0x128/0x150

kfence-#72: 0xffff8c3f2e292000-0xffff8c3f2e29201f, size=32, cache=kmalloc-32

allocated by task 14 on cpu 0 at 32.919330s (0.1s ago):
 toy_new+0xfe/0x738 [toy]

freed by task 15 on cpu 3 at 32.919430s (0.1s ago):
 toy_free+0xfe/0x738 [toy]

PROCESS
==================================================================
`, `KFENCE: WHO|toy_peek kthread
allocated: CPU 0 PID 14|toy_new
freed: CPU 3 PID 15|toy_free
`},
	{"KCSAN", `BUG: KCSAN: data-race in toy_r / toy_w

write to 0xffffffffc009a628 of 8 bytes by task 14 on cpu 0:
 toy_w+0x1d/0x30 [toy]
 kthread+0x128/0x150

read to 0xffffffffc009a628 of 8 bytes by interrupt on cpu 6:
 toy_r+0x10/0x20 [toy]

value changed: 0x00000000000009a6 -> 0x00000000000009b2

Reported by Kernel Concurrency Sanitizer on:
PROCESS
==================================================================
`, `KCSAN: CPU 0 PID 14|toy_w kthread
KCSAN: CPU 6|toy_r
`},
	{"KMSAN", `BUG: KMSAN: uninit-value in toy_check+0x1be/0x380 [toy]
 toy_check+0x1be/0x380 [toy]
 kthread+0x128/0x150

Uninit was stored to memory at:
 toy_local+0x1be/0x380 [toy]

Local variable uninit created at:
 toy_made+0x57/0x380 [toy]

Bytes 4-7 of 8 are uninitialized

PROCESS
`, `KMSAN: WHO|toy_check kthread
stack|toy_local
stack|toy_made
`},
	{"slab", `BUG kmalloc-64 (Not tainted): Poison overwritten
-----------------------------------------------------------------------------
Allocated in toy_new+0x2c/0x60 [toy] age=5 cpu=0 pid=14
 kmem_cache_alloc+0x1be/0x380
Freed in toy_free+0x1c/0x40 [toy] age=2 cpu=3 pid=15
 kfree+0x57/0x380
Slab 0x00000000abcdef12 objects=16 used=1 fp=0x0000000012345678 flags=0x800
PROCESS
HERE
`, `slab: WHO|CHAIN
allocated: CPU 0 PID 14|kmem_cache_alloc
freed: CPU 3 PID 15|kfree
`},
	{"lockdep", `WARNING: possible circular locking dependency detected
sh/7 is trying to acquire lock:
ffffffffc0100020 (toy_a){+.+.}-{3:3}, at: toy_ba+0x20/0x40 [toy]
the existing dependency chain (in reverse order) is:
-> #1 (toy_b){+.+.}-{3:3}:
       __mutex_lock+0x9a/0x870
       toy_ab+0x20/0x40 [toy]
-> #0 (toy_a){+.+.}-{3:3}:
       lock_acquire+0xd1/0x2d0
       toy_ba+0x20/0x40 [toy]
2 locks held by sh/7:
 #0: ffff888003f2b448 (sb_writers#3){.+.+}-{0:0}, at: ksys_write+0x6a/0xe8
stack backtrace:
PROCESS
HERE
`, `warning: WHO|CHAIN
lock|__mutex_lock toy_ab
lock|lock_acquire toy_ba
`},
	{"preemption", `BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580
in_atomic(): 1, irqs_disabled(): 0, non_block: 0, pid: 7, name: sh
Preemption disabled at:
[<ffffffff81234567>] toy_lock+0x10/0x20
PROCESS
HERE
`, `sleeping while atomic: WHO|CHAIN
stack|toy_lock
`},
}

// TestKeptStacks: stacks that a checker kept are reports of their own, never frames of another; the
// process that the checker names belongs to the report itself, before that line or behind.
func TestKeptStacks(t *testing.T) {
	for _, cpu := range oopses {
		before, tail, _ := strings.Cut(cpu.log, "CPU: ")
		before = before[strings.LastIndexByte(before, '\n')+1:]
		process, here, _ := strings.Cut(tail, "\n")
		_, who, _ := strings.Cut(cpu.title, ": ")
		for _, c := range keptLogs {
			t.Run(c.name+"/"+cpu.name, func(t *testing.T) {
				log := strings.NewReplacer("PROCESS", "CPU: "+process, "HERE", here).Replace(c.log)
				if before != "" { // printk's times
					log = before + strings.ReplaceAll(strings.TrimRight(log, "\n"), "\n", "\n"+before)
					log = strings.ReplaceAll(log, before+"[", "[")
				}
				want := strings.NewReplacer("WHO", who, "CHAIN", cpu.want).Replace(c.want)
				if got := threadsOf(t, cpu.log+"\n---[ end trace 0 ]---\n"+log); got != cpu.title+"|"+cpu.want+"\n"+want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// TestNextProcess: a process that a checker names behind its stacks is not that of the next report.
func TestNextProcess(t *testing.T) {
	const log = `Linux version 6.6.0-test-amd64
BUG: KCSAN: data-race in toy_r / toy_w
write to 0xffffffffc009a628 of 8 bytes by task 14 on cpu 0:
 toy_w+0x1d/0x30 [toy]
CPU: 6 PID: 15 Comm: kt Not tainted 6.6.0-test-amd64 #1
BUG: KFENCE: out-of-bounds read in toy_peek+0xa6/0x234 [toy]
Out-of-bounds read at 0xffff8c3f2e291fff (1B left of kfence-#72):
 toy_peek+0xa6/0x234 [toy]
`
	if got, want := threadsOf(t, log), "KCSAN: CPU 0 PID 14|toy_w\nKFENCE|toy_peek\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestHungInIO: since Linux 6.13 the detector of hung tasks says whether a task waits for a disk, and
// who holds the lock.
func TestHungInIO(t *testing.T) {
	const log = `Linux version 6.14.0-test-amd64
INFO: task cat:95 blocked in I/O wait for more than 120 seconds.
      Not tainted 6.14.0-test-amd64 #1
task:cat             state:D stack:0     pid:95    ppid:1      flags:0x00000000
Call Trace:
 schedule+0x27/0xf0
INFO: task cat:95 is blocked on a mutex likely owned by task sh:7.
task:sh              state:S stack:0     pid:7    ppid:1      flags:0x00000000
Call Trace:
 schedule+0x27/0xf0
`
	if got, want := threadsOf(t, log), "hung task: PID 95 cat|schedule\ntask: PID 7 sh|schedule\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
