package bench_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// recursion is a program that calls what it is told to.
var recursion = codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
		400000: 55              push %rbp
		400001: 48 89 e5        mov  %rsp,%rbp
		400004: ff d0           call *%rax
		400006: 5d              pop  %rbp
		400007: c3              ret`}

// Where the program's call returns to, and where its frame is made.
const recursionReturns, recursionFramed = 0x400006, 0x400004

// modulesApart and stacksApart are how far one module's code lies from the next one's, and one stack from the next.
const modulesApart, stacksApart = 1 << 20, 1 << 24

// stopped is a program of some threads, each that many frames deep, whose frames lie in so many modules in turn.
func stopped(img *image.Image, threads, depth, modules int) *target.Snapshot {
	snap := &target.Snapshot{Arch: img.Arch}
	for i := range modules {
		snap.Modules = append(snap.Modules, target.NewModule(fmt.Sprintf("/lib/%d.so", i), img, uint64(i)*modulesApart))
	}
	var b target.Builder
	for i := range threads {
		sp := uint64(1)<<40 + uint64(i)*stacksApart
		var stack []byte
		for k := range depth {
			stack = binary.LittleEndian.AppendUint64(stack, sp+uint64(16*(k+1)))
			stack = binary.LittleEndian.AppendUint64(stack, recursionReturns+uint64(k%modules)*modulesApart)
		}
		b.Add(sp, stack, 0, target.PermRead)
		t := target.Thread{ID: i + 1}
		t.Regs.Set(img.Arch.PC, recursionFramed)
		t.Regs.Set(img.Arch.SP, sp)
		t.Regs.Set(img.Arch.FP, sp)
		snap.Threads = append(snap.Threads, t)
	}
	snap.Memory = b.Memory(img.Arch)
	return snap
}

// printed unwinds a program and prints what was found; it fails unless each thread has about as many frames as it is deep.
func printed(t *testing.T, u *backsight.Unwinder, snap *target.Snapshot, depth int) {
	t.Helper()
	traces, err := u.Backtraces(t.Context(), snap)
	if err != nil || len(traces) != len(snap.Threads) || len(traces[0].Frames) < depth {
		t.Fatalf("%v, %d threads, %d frames", err, len(traces), len(traces[0].Frames))
	}
	render.AppendText(nil, backsight.Report(t.Context(), snap, traces, &symbol.Symbolizer{}), render.Style{})
}

// logOf is a log with a report in a hundred lines.
func logOf(lines int) string {
	const report = `[  12.000001] Internal error: Oops: 0000000096000004 [#1] SMP
[  12.000002] CPU: 0 PID: 95 Comm: sh Not tainted 6.1.0 #1
[  12.000003] pc : leaf+0x18/0x24
[  12.000004] sp : ffff800008003d00
[  12.000005] Call trace:
[  12.000006]  leaf+0x18/0x24
[  12.000007]  middle+0x10/0x20
[  12.000008] ---[ end trace 0000000000000000 ]---
`
	var b strings.Builder
	for i := range lines / 100 {
		b.WriteString(report)
		for k := range 92 {
			fmt.Fprintf(&b, "[%5d.%06d] usb 1-%d: new high-speed USB device number %d using xhci_hcd\n", 13+i, k, i%9, k)
		}
	}
	return b.String()
}

// TestGrowth: what is four times as large takes four times the allocations at most, to the power 1.05: threads, the depth of a stack,
// images, captures, a log's lines.
func TestGrowth(t *testing.T) {
	const times, exponent = 4, 1.05
	img := recursion.Image(t)
	unwinder := func() *backsight.Unwinder {
		u, err := backsight.NewUnwinder(backsight.Options{MaxFrames: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		what string
		of   int
		run  func(t *testing.T, n int)
	}{
		{"threads", 100, func(t *testing.T, n int) { printed(t, unwinder(), stopped(img, n, 20, 1), 20) }},
		{"depth", 500, func(t *testing.T, n int) { printed(t, unwinder(), stopped(img, 1, n, 1), n) }},
		{"images", 250, func(t *testing.T, n int) { printed(t, unwinder(), stopped(img, 1, n, n), n) }},
		{"captures", 50, func(t *testing.T, n int) {
			u := unwinder()
			for range n {
				printed(t, u, stopped(img, 1, 20, 1), 20)
			}
		}},
		{"lines of a log", 1000, func(t *testing.T, n int) {
			files := backsight.NewFiles(input.FileOptions{})
			defer files.Close()
			s, err := backsight.OpenReader(t.Context(), "log", strings.NewReader(logOf(n)), input.Env{Files: files})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			snap, err := s.Next(t.Context())
			if err != nil || len(snap.Threads) < n/100 {
				t.Fatalf("%v, %d reports of %d", err, len(snap.Threads), n/100)
			}
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.run(t, c.of) // what is made once
			small := allocated(func() { c.run(t, c.of) })
			large := allocated(func() { c.run(t, times*c.of) })
			if grows := math.Log(float64(large)/float64(small)) / math.Log(times); grows > exponent {
				t.Errorf("%d to %d allocations: exponent %.2f", small, large, grows)
			} else {
				t.Logf("%d to %d allocations: exponent %.2f", small, large, grows)
			}
		})
	}
}
