package kernellog

import (
	"fmt"
	"strings"
	"testing"
)

// TestPairs: ARM's chain in each of the ways in which kernels have written it.
func TestPairs(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"with addresses", `[<c0010000>] (leaf) from [<c0020010>] (mid+0x10/0x20)
[<c0020000>] (mid) from [<c0030010>] (top+0x10/0x20)`, "leaf@0 mid+10@c0020010 top+10@c0030010"},
		{"with offsets", `[<c0010004>] (leaf+0x4/0x20) from [<c0020010>] (mid+0x10/0x20)
[<c0020010>] (mid+0x10/0x20) from [<c0030010>] (top+0x10/0x20)`, "leaf@0 mid+10@c0020010 top+10@c0030010"},
		{"without symbols", `Function entered at [<c0010004>] from [<c0020010>]
Function entered at [<c0020010>] from [<c0030010>]`, "@c0010004 @c0020010 @c0030010"},
		{"the callers' names are lost", `[<c0010000>] (leaf) from [<c0020010>]
[<c0020000>] (mid) from [<c0030010>]
[<c0030010>] (top) from [<c0040010>] (kthread+0x10/0x20)`, "leaf@0 mid+10@c0020010 top@c0030010 kthread+10@c0040010"},
		{"pages took the addresses for elements", `[] (leaf+0x4/0x20) from [] (mid+0x10/0x20)
[] (mid+0x10/0x20) from [] (top+0x10/0x20)`, "leaf@0 mid+10@0 top+10@0"},
		{"nothing is known of the caller", `[<c0010000>] (leaf+0x4/0x20) from [<00000000>] (  (null))`, "leaf@0"},
		{"a call that never returns", `[<c0010000>] (leaf) from [<c0020010>] (next+0x0/0x20)
[<c0020000>] (mid) from [<c0030010>] (top+0x10/0x20)`, "leaf@0 mid+10@c0020010 top+10@c0030010"},
		{"inlined calls put in", `[<c0010000>] (leaf) from [<c0020010>] (inner toy.c:12 [inline])
[<c0010000>] (leaf) from [<c0020010>] (mid+0x10/0x20 toy.c:20)`, "leaf@0 mid+10@c0020010"},
		{"no symbol is near", ` leaf from 0xbf000010
 0xbf000010 from top+0x10/0x20`, "leaf@0 @bf000010 top+10@0"},
	} {
		var tr trace
		tr.open = true
		for _, line := range strings.Split(c.log, "\n") {
			if !tr.take(strings.TrimSpace(line)) {
				t.Errorf("%s: %q is no entry", c.name, line)
			}
		}
		var got []string
		for _, l := range tr.listed {
			s := l.Symbol
			if l.Offset != 0 {
				s += fmt.Sprintf("+%x", l.Offset)
			}
			got = append(got, fmt.Sprintf("%s@%x", s, l.PC))
		}
		if s := strings.Join(got, " "); s != c.want || tr.missing {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// TestHalfOfPair: the second half of a pair is no entry of its own.
func TestHalfOfPair(t *testing.T) {
	if tr := (trace{open: true}); tr.take("(mid+0x10/0x20)") {
		t.Errorf("%+v", tr.listed)
	}
}

// TestAddressesLost: entries and registers whose addresses pages took for elements of HTML.
func TestAddressesLost(t *testing.T) {
	const log = `
Internal error: : 96000210 [#1] SMP
CPU: 1 PID: 7 Comm: sh Not tainted 4.4.71 #3
PC is at leaf+0x20/0x34
LR is at mid+0x44/0x64
pc : [] lr : [] pstate: 80000145
sp : ffffffc03853bb60
x29: ffffffc03853bb60 x28: ffffffc038538000
Call trace:
[] leaf+0x20/0x34
[] mid+0x44/0x64
[] el0_svc_naked+0x24/0x28
`
	if got, want := threadsOf(t, log), "oops: CPU 1 PID 7 sh|leaf! mid el0_svc_naked.\n"; got != want {
		t.Errorf("got %swant %s", got, want)
	}
}

// TestStaleLink: ARM's link register is the caller only where nothing else can be, and then a guess: functions leave
// there where they called something themselves. At a function's first instruction it is the caller.
func TestStaleLink(t *testing.T) {
	const head = "Internal error: Oops: 5 [#1] SMP ARM\nPC is at leaf+0x14/0x20\nLR is at other+0x24/0x2c\n" +
		"pc : [<c0010014>]    lr : [<c0050024>]    psr: 40000013\nsp : ca911db0  ip : ca911e84  fp : 0069b1e0\n"
	const table = "[<c0010014>] (leaf) from [<c0020010>] (mid+0x10/0x20)\n"
	const frames = "Backtrace:\n[<c0010000>] (leaf) from [<c0020010>] (mid+0x10/0x20)\n r5:c0010000 r4:c0020000\n"
	for _, c := range []struct{ name, log, chain, gaps string }{
		{"a chain by tables", head + table, "leaf! mid", ""},
		{"a chain by frame pointers", head + frames, "leaf! other mid", "other"},
		{"no chain", head, "leaf! other", "other"},
		{"at the first instruction", strings.NewReplacer("leaf+0x14", "leaf+0x0", "c0010014", "c0010000").Replace(head), "leaf! other", ""},
	} {
		if got := chainOf(&snapshots(t, c.log)[0].Threads[0]); got != c.chain {
			t.Errorf("%s: %s, want %s", c.name, got, c.chain)
		}
		if got := gaps(t, c.log); got != c.gaps {
			t.Errorf("%s: doubt of %q, want %q", c.name, got, c.gaps)
		}
	}
}
