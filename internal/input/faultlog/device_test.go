package faultlog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// ported is a report of device/ports/cortexm, after a recursion and an interrupt, as a console logged it.
const ported = `[    1.1] boot
[    4.7] backsight: report 1
[    4.7] exc_return: fffffff9 msp: 2000ff98 psp: 00000000 cfsr: 00008200 hfsr: 40000000 mmfar: 00000000 bfar: a0000000
[    4.7] r0: a0000000 r1: 20000000 r12: 00000000 sp: 2000ffb8 lr: 0000009d pc: 0000001c xpsr: 41000000
[    4.7] #0 0x0000001c
[    4.7] #1 0x0000009c
[    4.7] #5 0x00000124 interrupted
[    4.7] #6 0x00000224 ?
[    4.7] build: 9e2a29b48deb5e203f9c74c3473714e266cc97e6
[    4.7] thread: sensor
[    4.7] firmware: 1.4.2
[    4.7] uptime: 4711
[    4.7] backsight: end 2
[    5.0] boot
`

// TestPorted: the registers, the frames with those that a recursion left out, the cause in words, what hooks said.
func TestPorted(t *testing.T) {
	snap, err := open(ported)
	if err != nil {
		t.Fatal(err)
	}
	th := &snap.Threads[0]
	if got, want := summary(snap, th), "fault in sensor, firmware 1.4.2, 4.711 s after the start | arm cortexm | pc 1c sp 2000ffb8 lr 9d | 0 bytes, 6 listed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := "precise data bus error (PRECISERR), at 0xa0000000"; snap.Fault.Status != want {
		t.Errorf("%q, want %q", snap.Fault.Status, want)
	}
	var b strings.Builder
	for _, f := range th.Listed {
		fmt.Fprintf(&b, "%x", f.PC)
		for _, mark := range []struct {
			is   bool
			text string
		}{{f.Exact, "!"}, {f.Searched, "?"}, {f.Doubtful, "*"}} {
			if mark.is {
				b.WriteString(mark.text)
			}
		}
		b.WriteByte(' ')
	}
	if got, want := b.String(), "9c 9c 9c 9c 124! 224?* "; got != want {
		t.Errorf("frames %s, want %s", got, want)
	}
}

// TestPortedInPart: what a reset, a fault in the report or a full stack left of one is used, and a version that is not
// known is said.
func TestPortedInPart(t *testing.T) {
	head, _, _ := strings.Cut(ported, "[    4.7] #0")
	for text, want := range map[string]string{
		head: "fault | arm cortexm | pc 1c sp 2000ffb8 lr 9d | 0 bytes, 0 listed",
		head + "#0 0x1c\n#1 0x9c\nbacksight: a fault in the report\n#2 0x124": "fault | arm cortexm | pc 1c sp 2000ffb8 lr 9d | 0 bytes, 1 listed",
		"backsight: report 1\nexc_return: fffffff9 cfsr: 00001000\nmsp: 60000000 psp: 00000000\nr4: 00000001 r5: 00000000 r6: 00000000 r7: 00000000 sp: 60000000\nbacksight: end 5\n": "fault | arm cortexm | pc - sp 60000000 lr - | 0 bytes, 0 listed",
		"backsight: report 1\n#0 0x1c\n":                      "error: fault: nothing tells the processor: name the firmware (-e), or --arch",
		"backsight: report 2\ncfsr: 0\n#0 0x0000001c\n":       `error: a report of version "2", which is not known; not used`,
		"backsight: report 1\n#0 libfoo.so+0x1234 b3ebaef2\n": "error: fault: nothing tells the processor: name the firmware (-e), or --arch",
	} {
		snap, err := open(text)
		got := ""
		if err != nil {
			_, reason, _ := strings.Cut(err.Error(), ": offset 0x0: ")
			got = "error: " + reason
		} else {
			got = summary(snap, &snap.Threads[0])
		}
		if got != want {
			t.Errorf("%s\nis %s, want %s", text, got, want)
		}
	}
}

// TestModules: modules lie apart from one another, whether they were found or not, and a frame without one has no
// address among them.
func TestModules(t *testing.T) {
	archs := archs()
	arch, _ := archs.ByName("arm", "", false)
	listed := []target.Listed{{Module: "a.so", PC: 0x12345678, Exact: true}, {Module: "b.so", PC: 0x20}, {Module: "a.so", PC: 0x30}, {PC: 0x20040}}
	o := own{modules: []ownModule{{name: "a.so", build: []byte{1}}, {name: "b.so", build: []byte{2}}}}
	p := o.place(&input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs})}, arch, listed)
	for i, f := range listed[:3] {
		m := p.Modules[i&1]
		if !m.Contains(f.PC) || f.Module != m.Name {
			t.Errorf("frame %d at %#x is not in %s, %#x", i, f.PC, m.Name, m.Range)
		}
	}
	if a, b := p.Modules[0].Range, p.Modules[1].Range; a.Hi > b.Lo || listed[3].PC != 0 || listed[3].Symbol != "0x20040" || len(p.Issues) != 2 {
		t.Errorf("%#x, %#x, %+v, %v", a, b, listed[3], p.Issues)
	}
}

// TestEnded: the last line of a report is known as such, so that nobody waits for more.
func TestEnded(t *testing.T) {
	log := console.NewLog(context.Background(), []byte(ported))
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
	r, next := read(context.Background(), log, 1, env)
	if r == nil || !r.Ended || next != 13 {
		t.Errorf("%+v, next line %d", r, next)
	}
}

// TestLinux: the signal in words, all threads, each module where it was, and a recursion deeper than a list is long.
func TestLinux(t *testing.T) {
	const log = `backsight: report 1
signal: 11 code: 1 address: 0x8
r0: 00000008 r1: 3ffffa68 sp: 3ffff6f0 lr: 40000b9b
pc: 40000b8c cpsr: 00070030
#0 sensord+0xb8c 2c096c62 0x40000b8c
#1 sensord+0xb9a 2c096c62 0x40000b9a
#174001 libc.so.6+0x1e38a 99691551 0x3f6b638a
thread: main 4711
task: worker 4712
#0 libc.so.6+0xcf544 99691551 0x3f767544
#1 sensord+0xc00 2c096c62 0x40000c00
task: 4713 does not answer
backsight: end 0
`
	snap, err := open(log)
	if err != nil {
		t.Fatal(err)
	}
	crashed, worker := &snap.Threads[0], &snap.Threads[1]
	if f := snap.Fault; f.Name != "SIGSEGV" || f.Code != 1 || f.Address != 8 || !f.HasAddress || snap.OS != "Linux" {
		t.Errorf("%+v on %s", f, snap.OS)
	}
	n := len(crashed.Listed)
	if n != 2+maxRepeated || !crashed.Listed[n-1].Gap || crashed.Listed[n-2].PC != 0x40000b9a {
		t.Errorf("%d frames, %+v", n, crashed.Listed[n-1])
	}
	if said := snap.Issues[len(snap.Issues)-1].Text; !strings.Contains(said, "of a recursion 173871 frames more") {
		t.Errorf("said %q", said)
	}
	if worker.Name != "worker 4712" || len(worker.Listed) != 2 || worker.Listed[1].PC != 0x40000c00 || len(snap.Threads) != 2 {
		t.Errorf("%+v", worker)
	}
	if m, ok := snap.ModuleAt(0x3f767544); !ok || m.Name != "libc.so.6" || m.Bias != 0x3f698000 {
		t.Errorf("%+v", m)
	}
}

// TestLostPlace: where no frame of what failed could be had, those of another task are not its own.
func TestLostPlace(t *testing.T) {
	const log = `backsight: report 1
exc_return: fffffffd msp: 2003ffe0 psp: 1ff7bb60 cfsr: 00020000 hfsr: 40000000 mmfar: 00000000 bfar: 00000000
r4: 00000002 r5: 00000001 r6: a5a5a5a5 r7: a5a5a5a5 sp: 1ff7bb60
thread: crash
task: IDLE
task: busy
#0 0x000001c0
backsight: end 5
`
	snap, err := open(log)
	if err != nil {
		t.Fatal(err)
	}
	if crashed := &snap.Threads[0]; len(crashed.Listed) != 0 || !strings.Contains(crashed.Name, "crash") {
		t.Errorf("%+v", crashed)
	}
	if n := len(snap.Threads) - 1; n < 1 || snap.Threads[n].Name != "busy" || len(snap.Threads[n].Listed) != 1 {
		t.Errorf("%+v", snap.Threads)
	}
}
