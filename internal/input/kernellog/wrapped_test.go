package kernellog

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/input/console"
)

// wrappedOops is a report as mail has it that broke its lines.
const wrappedOops = `
> [   33.300000] Unable to handle kernel NULL pointer dereference at virtual address
> 00000280
> [   33.310000] Internal error: Oops: 5 [#1] SMP ARM
> [   33.320000] CPU: 0 PID: 7 Comm: toyd Not tainted
> 5.9.0-toy-armmp #16
> [   33.330000] PC is at leaf+0x14/0x20 [toy]
> [   33.340000] LR is at mid+0x24/0x2c
> [toy]
> [   33.350000] pc : [<bf000014>]    lr : [<bf000044>]    psr:
> 40000013
> [   33.360000] sp : ca911db0  ip : ca911e84  fp : 0069b1e0
> [   33.370000] Stack: (0xca911db0 to 0xca912000)
> [   33.380000] 1da0:                                     00000002 bf00009c
> 000000e1 00010000
> [   33.390000] 1dc0: 00000000 00000005 00000006 00000007 00000008
> 00000009 0000000a 0000000b
> [   33.400000] [<bf000014>] (leaf [toy]) from [<bf000044>]
> (mid+0x24/0x2c [toy])
> [   33.410000] [<bf000044>] (mid [toy]) from
> [<c0101234>] (top_of_the_toy.constprop.0+0x98/0xb0)
> [   33.420000] [<c0101234>] (top_of_the_toy.constprop.0) from [<c0100000>]
> +(ret_fast_syscall+0x0/0x1c)
> [   33.430000] Code: e28dd004 e30232c0 e34b3f00 e5933000 (e5933000)
`

// TestWrapped: a report whose lines mail broke is the same report.
func TestWrapped(t *testing.T) {
	s := snapshots(t, wrappedOops)[0]
	if got, want := threadsOf(t, wrappedOops), "oops: CPU 0 PID 7 toyd|leaf! mid top_of_the_toy.constprop.0 ret_fast_syscall!.\n"; got != want {
		t.Errorf("got %swant %s", got, want)
	}
	if got, want := threadsOf(t, strings.ReplaceAll(wrappedOops, "\n", "\n>\n")), threadsOf(t, wrappedOops); got != want {
		t.Errorf("with blank lines: %s", got)
	}
	th := &s.Threads[0]
	if f := th.Fault; f == nil || f.Address != 0x280 {
		t.Errorf("fault %+v", f)
	}
	if m := th.Listed[1].Module; m != "toy" {
		t.Errorf("module %q", m)
	}
	var words []string
	for _, at := range []uint64{0xca911db0, 0xca911dbc, 0xca911dc0, 0xca911dd4} {
		words = append(words, fmt.Sprintf("%x", th.Memory.Bytes(at)[0]))
	}
	if got := strings.Join(words, " "); got != "2 0 0 9" {
		t.Errorf("stack %s", got)
	}
}

// TestWrappedAnywhere: where messages have a prefix, one without goes on with what was broken before it, wherever that was.
func TestWrappedAnywhere(t *testing.T) {
	for _, oops := range []int{0, 1} {
		log := regexp.MustCompile(`(?m)^(\[ *[0-9.]+\] ?)?`).ReplaceAllString(strings.TrimSpace(oopses[oops].log), "Nov 22 05:00:01 host kernel: ")
		for _, width := range []int{72, 76, 80} {
			if got, want := threadsOf(t, wrap(log, width)), threadsOf(t, oopses[oops].log); got != want {
				t.Errorf("%d columns: got %swant %s", width, got, want)
			}
		}
	}
}

// TestBrokenByTerminal: a terminal breaks lines where it ends, within words.
func TestBrokenByTerminal(t *testing.T) {
	for _, oops := range []int{0, 1} {
		log := regexp.MustCompile(`(?m)^(\[ *[0-9.]+\] ?)?`).ReplaceAllString(strings.TrimSpace(oopses[oops].log), "Nov 22 05:00:01 host kernel: ")
		for _, width := range []string{"70", "73"} {
			broken := regexp.MustCompile("(?m)^.{"+width+"}").ReplaceAllString(log, "$0\n")
			if got, want := threadsOf(t, broken), threadsOf(t, oopses[oops].log); got != want {
				t.Errorf("%s columns: got %swant %s", width, got, want)
			}
		}
	}
}

// TestSoftBreaks: mail as it is sent breaks lines within words, and says so.
func TestSoftBreaks(t *testing.T) {
	log := strings.NewReplacer("(mid+0x24/0x2c [toy])", "(mi=\nd+0x24/0x2c [toy])", "<", "&lt;", "toyd Not", "toy=\nd Not").Replace(wrappedOops)
	if got, want := threadsOf(t, log), threadsOf(t, wrappedOops); got != want {
		t.Errorf("got %swant %s", got, want)
	}
	const ruler = "==================\nBUG: KASAN: use-after-free in leaf+0x1/0x2\n"
	if m := (messages{log: console.NewLog(t.Context(), []byte(ruler))}); true {
		if l, _ := m.read(); strings.Contains(l.Text, "BUG") {
			t.Errorf("%q", l.Text)
		}
	}
}

// wrap breaks lines as mail does.
func wrap(text string, width int) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		for len(line) > width {
			at := strings.LastIndexByte(line[:width+1], ' ')
			if at < len("Nov 22 05:00:01 host kernel: ") {
				break
			}
			out, line = append(out, strings.TrimRight(line[:at], " ")), strings.TrimLeft(line[at:], " ")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestNotBroken: output of programs between a kernel's lines, and the one line that is the longest, are no parts of others.
func TestNotBroken(t *testing.T) {
	for _, log := range []string{
		"[    1.000000] short\nStarting the toy daemon\n[    2.000000] " + strings.Repeat("x", 60) + "\nStarting it again\n",
		"[    1.000000] " + strings.Repeat("y ", 30) + "\nCall trace:\n",
		"[    1.000000] " + strings.Repeat("y ", 60) + "\nCall trace:\n[    2.000000] " + strings.Repeat("y ", 60) + "\nCall trace:\n",
	} {
		m := messages{log: console.NewLog(t.Context(), []byte(log))}
		for n := 0; m.at < m.log.Len(); n++ {
			if _, last := m.read(); last != n {
				t.Errorf("%q: a message of several lines", log)
			}
		}
	}
}

// TestNotWrapped: a line with a time, or of another kind, goes on with no other.
func TestNotWrapped(t *testing.T) {
	for _, c := range []struct{ text, next string }{
		{"Function entered at [<c0012345>] from [<c0045678>]", "Function entered at [<c0045678>] from [<c0056789>]"},
		{"[<c0012345>] (leaf) from [<c0045678>]", "Code: e28dd004 e30232c0 (e34b3f00)"},
		{" leaf_with_a_long_name.constprop.0.isra.0+0x18/0x24", "[snip]"},
		{" leaf+0x18/0x24", "[toy]"},
		{"1da0: 00000002 bf00009c 000000e1 00010000 00000002 bf00009c 000000e1 00010000", "00000002"},
		{"Unable to handle kernel paging request at virtual address 00000010", "00000280"},
		{"Call trace:", "00000280"},
		{"", "x"},
	} {
		if fits := fitsBehind(c.text); fits != nil && fits(c.next) {
			t.Errorf("%q goes on with %q", c.text, c.next)
		}
	}
}

// TestSpacesOfStack: pages make one space of several. The words of the first line still end with the line; words that
// lack digits do not move the others.
func TestSpacesOfStack(t *testing.T) {
	for line, want := range map[string]string{
		"1da0:                                     00000002 bf00009c 000000e1 00010000": "ca911db0: 2 bf00009c e1 10000",
		"1da0: 00000002 bf00009c 000000e1 00010000":                                     "ca911db0: 2 bf00009c e1 10000",
		"1da0:                                     00000002 bf0x009c 000000e1 00010000": "ca911db0: 2 - e1 10000",
		"1da0:                                     00000002          000000e1 00010000": "ca911da0: - - - - 2 - e1 10000",
	} {
		var s stack
		s.take("Stack: (0xca911db0 to 0xca912000)")
		s.take(line)
		got := fmt.Sprintf("%x:", s.lines[0].addr)
		for _, w := range s.lines[0].words {
			if got += " -"; w.known {
				got = got[:len(got)-1] + fmt.Sprintf("%x", w.value)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// TestLongWordsOfStack: kernels for arm64 before Linux 4.10 show words of eight bytes.
func TestLongWordsOfStack(t *testing.T) {
	log := strings.Replace(oopses[0].log, "[    5.180314] Call trace:", `Stack: (0xffff80000825b860 to 0xffff80000825c000)
b860: ffff80000825b890 ffffa08ccc789058 0000000000000004 0000000000000000
Call trace:`, 1)
	if b := snapshots(t, log)[0].Threads[0].Memory.Bytes(0xffff80000825b868); len(b) < 8 || b[0] != 0x58 || b[7] != 0xff {
		t.Errorf("%x", b)
	}
}

// TestMemoryAround: memory around registers belongs to a report, however much of it there is.
func TestMemoryAround(t *testing.T) {
	around := "\n\nPC: 0xbefffff0:\nfff0  e3510004 1a000012 ******** e351000e 0a000009 e3510029 05903180 00000000\n\nR4: 0xc07f96e0:\n" +
		strings.Repeat("96e0  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n", 2*maxSilence) + "Process sh (pid: 95, stack limit = 0xca9102e8)\nStack: (0x"
	log := strings.Replace(oopses[1].log, "\nStack: (0x", around, 1)
	if got, want := threadsOf(t, log), threadsOf(t, oopses[1].log); got != want {
		t.Errorf("got %swant %s", got, want)
	}
	for _, text := range []string{"96e0 00000000", "R4: 0xc07f96e0", "dead  beef", "eth0: 0x12345678:", "Code  12345678"} {
		if isAround(text) {
			t.Errorf("%q", text)
		}
	}
}

// TestCutSymbol: a frame may be missing where the end of a line cut a symbol off.
func TestCutSymbol(t *testing.T) {
	log := strings.Replace(oopses[0].log, "[    5.180442]", "[    5.180400]  _RINvMs8_NtCsirMamryJlsQ_5toy6object>\n[    5.180442]", 1)
	if got := gaps(t, log); got != "top" {
		t.Errorf("gaps before %q", got)
	}
}
