package entered_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/entered"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Programs in which schedule calls run, which makes room and jumps to code; back is where code jumps to at last. code calls
// leaf, and ends in jumps. framed is jumped to, and calls leaf, too. main calls schedule;
// twice calls copy, which calls move, a leaf with a frame.
var (
	arm64Program = codetest.Program{CPU: "aarch64", Listing: `
	400000 <schedule>:
	400010 <run>:
	400030 <code>:
	40003c <leaf>:
	400040 <framed>:
	400050 <main>:
	400060 <move>:
	400070 <copy>:
	400084 <twice>:
		400000: a9bf7bfd  stp  x29, x30, [sp, #-16]!
		400004: 94000003  bl   400010
		400008: a8c17bfd  ldp  x29, x30, [sp], #16
		40000c: d65f03c0  ret
		400010: a9be7bfd  stp  x29, x30, [sp, #-32]!
		400014: a90153f3  stp  x19, x20, [sp, #16]
		400018: d10103ff  sub  sp, sp, #64
		40001c: d61f0000  br   x0
		400020: 910103ff  add  sp, sp, #64
		400024: a94153f3  ldp  x19, x20, [sp, #16]
		400028: a8c27bfd  ldp  x29, x30, [sp], #32
		40002c: d65f03c0  ret
		400030: aa0203e1  mov  x1, x2
		400034: 94000002  bl   40003c
		400038: d61f0060  br   x3
		40003c: d65f03c0  ret
		400040: a9bf7bfd  stp  x29, x30, [sp, #-16]!
		400044: 97fffffe  bl   40003c
		400048: a8c17bfd  ldp  x29, x30, [sp], #16
		40004c: d65f03c0  ret
		400050: a9bf7bfd  stp  x29, x30, [sp, #-16]!
		400054: 97ffffeb  bl   400000
		400058: a8c17bfd  ldp  x29, x30, [sp], #16
		40005c: d65f03c0  ret
		400060: d10083ff  sub  sp, sp, #32
		400064: f90003e0  str  x0, [sp]
		400068: 910083ff  add  sp, sp, #32
		40006c: d65f03c0  ret
		400070: a9bf7bfd  stp  x29, x30, [sp, #-16]!
		400074: 10ffff68  adr  x8, 400060
		400078: d63f0100  blr  x8
		40007c: a8c17bfd  ldp  x29, x30, [sp], #16
		400080: d65f03c0  ret
		400084: a9bf7bfd  stp  x29, x30, [sp, #-16]!
		400088: 97fffffa  bl   400070
		40008c: a8c17bfd  ldp  x29, x30, [sp], #16
		400090: d65f03c0  ret`}
	amd64Program = codetest.Program{CPU: "x86_64", Listing: `
	400000 <schedule>:
	400010 <run>:
	400030 <code>:
	40003a <leaf>:
		400000: 53                    push %rbx
		400001: e8 0a 00 00 00        call 400010
		400006: 5b                    pop  %rbx
		400007: c3                    ret
		400010: 53                    push %rbx
		400011: 48 81 ec 40 00 00 00  sub  $64,%rsp
		400018: ff e7                 jmp  *%rdi
		40001a: 66 0f 1f 44 00 00     nopw (%rax)
		400020: 48 81 c4 40 00 00 00  add  $64,%rsp
		400027: 5b                    pop  %rbx
		400028: c3                    ret
		400030: 48 89 f7              mov  %rsi,%rdi
		400033: e8 02 00 00 00        call 40003a
		400038: ff e5                 jmp  *%rbp
		40003a: c3                    ret`}
)

const stackAt = 0x7fff_0000

// TestEntered: the caller of code that was jumped to is that of the function that jumped. What lies in the room that this
// function has made is left over. Frames are told by PC and the distance of their CFA from SP.
func TestEntered(t *testing.T) {
	const ra = 0x400008
	stale := []uint64{0x400048, 0x400048, 0, 0, 0, 0, 0, 0}
	run := append(stale, 0x7fff_1000, ra, 0x19, 0x20)
	for _, c := range []struct {
		name  string
		p     codetest.Program
		regs  map[string]uint64
		exact bool
		words []uint64
		want  string
	}{
		{"code behind a call", arm64Program, map[string]uint64{"pc": 0x400038, "x30": 0x400038}, true, run, "400038+96 400008"},
		{"a function that code has jumped to, with a frame", arm64Program, map[string]uint64{"pc": 0x400048, "x30": 0x400048}, true,
			slices.Concat([]uint64{0x7fff_1000, ra}, run, []uint64{0x7fff_2000, 0x400058}), "400048+112 400008"},
		{"… which was not called after all", arm64Program, map[string]uint64{"pc": 0x400048, "x30": 0x400048}, true,
			slices.Concat([]uint64{0x7fff_1000, ra}, run, []uint64{0x7fff_2000, 0x40000c}), "400048+16 400008"},
		{"a function in place of a leaf that a signal has interrupted", arm64Program, map[string]uint64{"pc": 0x400048, "x30": 0x400048}, true,
			[]uint64{0x7fff_1000, 0x40007c, 1, 2, 3, 4, 0x7fff_2000, 0x40008c}, "400048+48 40007c+64 40008c"},
		{"a leaf that code has called", arm64Program, map[string]uint64{"pc": 0x40003c, "x30": 0x400038}, true, run, "40003c+0 400038+96 400008"},
		{"a trace, which has made room and left the link register", arm64Program, map[string]uint64{"pc": 0x900000, "x30": 1}, true,
			append([]uint64{0, 0}, run...), "900000+112 400008"},
		{"the frame lies elsewhere", arm64Program, map[string]uint64{"pc": 0x400038, "x30": 0x400038}, true, run[1:], "400038"},
		{"x86-64", amd64Program, map[string]uint64{"pc": 0x400038}, true, append(stale, 3, 0x400006), "400038+80 400006"},
	} {
		img := c.p.Image(t)
		lo, hi := img.Segments.Bounds()
		m := &target.Module{Name: "program", Image: img, Range: target.Range{Lo: lo, Hi: hi}}
		c.regs["sp"] = stackAt
		snap := synth.Capture(img.Arch, []*target.Module{m}, synth.Stack(img.Arch).Words(c.words...).Place(stackAt))
		snap.Threads = []target.Thread{{Regs: *synth.Regs(img.Arch, c.regs)}}
		graph := edges.New(nil)
		w := stackwalk.NewWalker(snap, stackwalk.Options{CallGraph: graph, Sources: []stackwalk.Source{code.New(nil), entered.New(graph)}})
		frames, _ := w.Walk(&snap.Threads[0], nil)
		var got []string
		for _, f := range frames {
			place := fmt.Sprintf("%x", f.PC)
			if f.HasCFA {
				place += fmt.Sprintf("+%d", f.CFA-stackAt)
			}
			if got = append(got, place); f.PC == c.words[len(c.words)-1] || f.PC == ra {
				got[len(got)-1] = fmt.Sprintf("%x", f.PC)
				break
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// FuzzStep: whatever lies on the stack, the search ends.
func FuzzStep(f *testing.F) {
	f.Add(uint64(0x400038), uint64(stackAt), uint64(0x400008))
	img := arm64Program.Image(f)
	lo, hi := img.Segments.Bounds()
	m := &target.Module{Name: "program", Image: img, Range: target.Range{Lo: lo, Hi: hi}}
	source := entered.New(edges.New(nil))
	f.Fuzz(func(t *testing.T, pc, sp, word uint64) {
		snap := synth.Capture(img.Arch, []*target.Module{m}, synth.Stack(img.Arch).Words(word, word, word, word).Place(stackAt))
		s := captured.State(snap, synth.Regs(img.Arch, map[string]uint64{"pc": pc, "sp": sp, "x30": word}), true)
		var out stackwalk.Caller
		if source.Step(s, &out) == unwind.Found && !out.HasCFA {
			t.Error("a frame without a CFA")
		}
	})
}
