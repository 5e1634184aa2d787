package kernellog

import (
	"strings"
	"testing"
)

// TestTracers: the chains that tracers print are threads of their own; the report within which a hypervisor's stands goes on
// behind it.
func TestTracers(t *testing.T) {
	const log = `
Linux version 6.1.0-50-arm64 (toy)
        Depth    Size   Location    (3 entries)
        -----    ----   --------
  0)     4088     136   take+0x8/0x110
  1)     3952     272   refill+0x2ac/0xa40
  2)      344     344   el0t_64_sync_handler+0xf4/0x120
--- end
          <idle>-0       [000] d.h1.    12.345678: wakeup: comm=toy pid=12
          <idle>-0       [000] d.h1.    12.345679: <stack trace>
 => wake+0x10/0x1a0
 => insert+0x90/0xa0
          <idle>-0       [000] d.h1.    12.345680: <stack trace>
 => wake+0x10/0x1a0
[   12.345671] Kernel panic - not syncing: HYP panic:
[   12.345672] CPU: 6 PID: 432 Comm: toy Not tainted 6.1.0-50-arm64 #1
[   12.345673] kvm [432]: nVHE call trace:
[   12.345674] kvm [432]:  [<ffff80000903c2ac>] __kvm_nvhe_hyp_panic+0xac/0xf8
[   12.345675] kvm [432]:  [<ffff80000903f0e8>] __kvm_nvhe_handle_trap+0x18/0x38
[   12.345676] kvm [432]: ---[ end nVHE call trace ]---
[   12.345677] Call trace:
[   12.345678]  panic+0x180/0x334
[   12.345679]  invoke_syscall+0x48/0x114
`
	want := "stack tracer|take refill el0t_64_sync_handler\ntrace event|wake insert\ntrace event|wake\n" +
		"panic: CPU 6 PID 432 toy|panic invoke_syscall\nnVHE|__kvm_nvhe_hyp_panic __kvm_nvhe_handle_trap\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestProcStacks: what reading /proc/PID/stack shows is a thread for each process, and no part of the report before.
func TestProcStacks(t *testing.T) {
	const log = `
[   12.345678] task:toy             state:D stack:0     pid:101   ppid:2      flags:0x00004000
[   12.345679] Call trace:
[   12.345680]  __switch_to+0xe0/0x114
[   12.345681]  sleeper+0x10/0x20
# tail -n +1 /proc/10[12]/stack
==> /proc/101/stack <==
[<0>] sleeper+0x10/0x20
[<0>] kthread+0xe0/0x100

==> /proc/102/stack <==
[<0>] do_wait+0x160/0x2f0
`
	want := "task: PID 101 toy|__switch_to sleeper\ntask: PID 101|sleeper kthread\ntask: PID 102|do_wait\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestTracerRows: a row of the stack tracer's table was lost, or two have changed places.
func TestTracerRows(t *testing.T) {
	const log = `        Depth    Size   Location    (3 entries)
        -----    ----   --------
  0)     4088     136   take+0x8/0x110
  1)     3952     272   refill+0x2ac/0xa40
  2)      344     344   el0t_64_sync_handler+0xf4/0x120
`
	lost := strings.Replace(log, "  1)     3952     272   refill+0x2ac/0xa40\n", "", 1)
	swapped := strings.Replace(lost, "  0)", "  1)     3952     272   refill+0x2ac/0xa40\n  0)", 1)
	for _, c := range []struct{ name, log, want string }{
		{"whole", log, "take refill el0t_64_sync_handler"},
		{"lost", lost, "take el0t_64_sync_handler!"},
		{"swapped", swapped, "refill! take! el0t_64_sync_handler!"},
	} {
		if got := gapsOf(&snapshots(t, c.log)[0].Threads[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
