package kernellog

import "testing"

// TestSourceLines: a report into which a tool has put lines of the source names the same functions.
func TestSourceLines(t *testing.T) {
	const head = "Internal error: Oops: 0000000096000004 [#1] SMP\nCPU: 0 PID: 7 Comm: sh Not tainted 6.1.0-toy #1\n"
	for _, c := range []struct{ name, log, want string }{
		{"decode_stacktrace.sh", head + `pstate: 12400005 (nzcV daif +PAN -UAO +TCO -DIT -SSBS BTYPE=--)
pc : leaf (drivers/toy/toy.c:119 (discriminator 2)) toy
lr : mid (include/linux/toy.h:31 drivers/toy/toy.c:12) toy
Call trace:
 leaf (drivers/toy/toy.c:119 (discriminator 2)) toy (P)
 mid (include/linux/toy.h:31 drivers/toy/toy.c:12) toy
 top (??:?)
 ret_from_fork (arch/arm64/kernel/entry.S:863)
Code: b90004a3 d5384101 52800000 aa0003f3 (39c00042)
All code
========
   0:	b90004a3 	str	w3, [x5, #4]
`, "leaf! mid top ret_from_fork!."},
		{"syzbot", head + `pc : toy_read include/linux/toy.h:27 [inline]
pc : leaf+0x3c/0x114 drivers/toy/toy.c:302
lr : mid+0x80/0xc0 drivers/toy/toy.c:453
Call trace:
 toy_read include/linux/toy.h:27 [inline]
 leaf+0x3c/0x114 drivers/toy/toy.c:302
 mid+0x80/0xc0 drivers/toy/toy.c:453
 top+0x10/0x20 [toy] drivers/toy/toy.c:77
 el0t_64_sync+0x190/0x1c0 arch/arm64/kernel/entry.S:699
`, "leaf! mid top el0t_64_sync."},
		{"ARM", `WARNING: CPU: 0 PID: 7 at drivers/toy/toy.c:4170 leaf (drivers/toy/toy.c:4170 (discriminator 1))
CPU: 0 PID: 7 Comm: sh Not tainted 6.1.0-toy #1
Call trace:
 unwind_backtrace from show_stack (arch/arm/kernel/traps.c:259)
 show_stack from leaf (drivers/toy/toy.c:4170 (discriminator 1)) toy
 leaf [toy] from ret_from_fork (arch/arm/kernel/entry-common.S:138)
`, "unwind_backtrace! show_stack leaf ret_from_fork!."},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snapshots(t, c.log)
			if len(s) == 0 {
				t.Fatal("no report")
			}
			if got := chainOf(&s[0].Threads[0]); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			for _, l := range s[0].Threads[0].Listed {
				if l.Symbol == "leaf" && (l.File != "drivers/toy/toy.c" || l.Line != map[string]int{"decode_stacktrace.sh": 119, "syzbot": 302, "ARM": 4170}[c.name]) {
					t.Errorf("leaf at %+v", l.Source)
				}
				if l.Symbol == "leaf" && c.name == "syzbot" && (len(l.Inlined) != 1 || l.Inlined[0].Function != "toy_read" || l.Inlined[0].Line != 27) {
					t.Errorf("inlined %+v", l.Inlined)
				}
			}
		})
	}
}

// TestNoSource: what no line of a source follows is no entry, and prose names no function.
func TestNoSource(t *testing.T) {
	for _, text := range []string{"toy (see there)", "see leaf (drivers/toy/toy.c:119)", "leaf (drivers/toy/toy.c:119) is where it stops",
		"eth0: link is up (toy.c:x)", "leaf ("} {
		if tr := (trace{open: true}); tr.take(text) {
			t.Errorf("%q: %+v", text, tr.listed)
		}
	}
	if tr := (trace{}); tr.take("leaf (drivers/toy/toy.c:119)") {
		t.Error("an entry without a header")
	}
}
