package stackdepth_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// program has a recursion, a call through a pointer, a tail call, and a function that makes room for what it is passed.
//
//	main ─► walk ⟲ ─► leaf
//	  ├───► (pointer) ─► hook, which a word of data points to ─► leaf
//	  └───► vla
const program = `
401000 <main>:
 401000: 48 83 ec 18     sub  $0x18,%rsp
 401004: e8 17 00 00 00  call 401020 <walk>
 401009: ff 15 f1 0f 00 00  call *0xff1(%rip)
 40100f: e8 4c 00 00 00  call 401060 <vla>
 401014: 48 83 c4 18     add  $0x18,%rsp
 401018: c3              ret
401020 <walk>:
 401020: 53              push %rbx
 401021: 85 ff           test %edi,%edi
 401023: 74 07           je   40102c
 401025: ff cf           dec  %edi
 401027: e8 f4 ff ff ff  call 401020 <walk>
 40102c: e8 0f 00 00 00  call 401040 <leaf>
 401031: 5b              pop  %rbx
 401032: c3              ret
401040 <leaf>:
 401040: 48 83 ec 28     sub  $0x28,%rsp
 401044: 48 83 c4 28     add  $0x28,%rsp
 401048: c3              ret
401050 <hook>:
 401050: 48 81 ec 88 00 00 00  sub $0x88,%rsp
 401057: 48 81 c4 88 00 00 00  add $0x88,%rsp
 40105e: eb e0           jmp  401040 <leaf>
401060 <vla>:
 401060: 55              push %rbp
 401061: 48 89 e5        mov  %rsp,%rbp
 401064: 48 29 fc        sub  %rdi,%rsp
 401067: c9              leave
 401068: c3              ret`

// report is that of the program with annotations.
func report(t *testing.T, annotations ...string) *stackdepth.Report {
	t.Helper()
	img := codetest.Program{CPU: "x86_64", Listing: program, Entry: 0x401000, Data: map[uint64][]uint64{0x402000: {0, 0x401050}}}.Image(t)
	return made(t, img, annotations...)
}

func made(t *testing.T, img *image.Image, annotations ...string) *stackdepth.Report {
	t.Helper()
	notes, err := stackdepth.ReadAnnotations(strings.NewReader(strings.Join(annotations, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	r, err := stackdepth.Make(t.Context(), img, stackdepth.Options{Annotations: notes})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// said is a root's depth with its path, and what is open.
func said(r *stackdepth.Report, name string) string {
	i := slices.IndexFunc(r.Roots, func(x stackdepth.Root) bool { return x.Name == name })
	if i < 0 {
		return "no root"
	}
	x := &r.Roots[i]
	s := fmt.Sprint(x.Depth)
	for _, f := range x.Path {
		s += fmt.Sprintf(" %s+%d", f.Name, f.Bytes)
	}
	for _, k := range x.Open[:x.OpenCount] {
		s += fmt.Sprintf("; %s: %s", r.Open[k].Function, r.Open[k].Kind)
	}
	return s
}

// TestOpen: what is not known counts nothing, and is listed; annotations close it.
func TestOpen(t *testing.T) {
	for _, c := range []struct {
		annotations []string
		want        string
	}{
		// 32 of main with the return address of its caller, 144 of hook, which jumps to leaf with 0 left: 48.
		{nil, "176 main+32 hook+144; vla: frame; walk: recursion"},
		{[]string{"recursion walk 12"}, "272 main+32 walk+176 walk+16 leaf+48; vla: frame"},
		{[]string{"recursion walk 12", "dynamic vla 256"}, "304 main+32 vla+272"},
		{[]string{"recursion walk 12", "bound vla 64"}, "272 main+32 walk+176 walk+16 leaf+48"},
		{[]string{"recursion walk 1", "bound vla 64", "call 0x401009 -> leaf"}, "96 main+32 walk+16 leaf+48"},
		{[]string{"bound walk 1000", "bound vla 64"}, "1032 main+32 walk+1000"},
	} {
		r := report(t, c.annotations...)
		if got := said(r, "main"); got != c.want {
			t.Errorf("%q: %s, want %s", c.annotations, got, c.want)
		}
	}
}

// TestUnknownNames: annotations that name no function are told.
func TestUnknownNames(t *testing.T) {
	r := report(t, "recursion nobody 3", "call main -> someone, leaf")
	if want := []string{"nobody", "someone"}; !slices.Equal(r.Unknown, want) {
		t.Errorf("%q, want %q", r.Unknown, want)
	}
}

// TestGivenRoot: the user says where a stack begins, and how large it is.
func TestGivenRoot(t *testing.T) {
	r := report(t, "root leaf 64")
	i := slices.IndexFunc(r.Roots, func(x stackdepth.Root) bool { return x.Name == "leaf" })
	if x := r.Roots[i]; x.Stack != 64 || x.Depth != 48 || x.From != "annotation" {
		t.Errorf("%+v", x)
	}
}

// TestVectors: handlers are found in the vector table, each with what exception entry pushes, and may interrupt one another unless
// they have one priority.
func TestVectors(t *testing.T) {
	const listing = `
00000100 <reset>:
 100: b510       push {r4, lr}
 102: f000 f80d  bl   120 <work>
 106: e7fe       b.n  106
00000110 <tick>:
 110: b500       push {lr}
 112: b083       sub  sp, #12
 114: b003       add  sp, #12
 116: bd00       pop  {pc}
00000118 <uart>:
 118: b51f       push {r0, r1, r2, r3, r4, lr}
 11a: bd1f       pop  {r0, r1, r2, r3, r4, pc}
00000120 <work>:
 120: b08a       sub  sp, #40
 122: b00a       add  sp, #40
 124: 4770       bx   lr`
	table := make([]uint64, 18)
	table[0], table[1], table[15], table[17] = 0x20001000, 0x101, 0x111, 0x119
	image := func() *image.Image {
		return codetest.Program{CPU: "arm cortexm", Mode: 1, Listing: listing, Entry: 0x101, Data: map[uint64][]uint64{0: table}}.Image(t)
	}
	const thread = 8 + 40
	r := made(t, image())
	sum := int64(thread)
	for _, in := range r.Roots[0].Interrupts {
		sum += in.Bytes
	}
	if r.Roots[0].Depth != sum || sum != thread+(16+36)+(24+36) {
		t.Errorf("depth %d, interrupts %+v", r.Roots[0].Depth, r.Roots[0].Interrupts)
	}
	r = made(t, image(), "priority tick 1", "priority uart 1")
	if r.Roots[0].Depth != thread+24+36 {
		t.Errorf("with one priority: %d", r.Roots[0].Depth)
	}
}

// TestManyEdges: a binary that is all calls through tables ends, and says that its depths are no bounds.
func TestManyEdges(t *testing.T) {
	const calls = 4200
	functions := 20
	if os.Getenv("BACKSIGHT_LONG") != "" {
		functions = 250
	}
	var text, data []byte
	place := func(f int) uint64 { return 0x400000 + uint64(f)*calls*8 }
	for f := range functions {
		for range calls - 1 {
			text = append(text, 0xff, 0x14, 0xc5, 0, 0, 0x80, 1, 0x90) // call *0x1800000(,%rax,8); nop
		}
		text = append(text, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc)
		data = binary.LittleEndian.AppendUint64(data, place(f))
	}
	like := codetest.Program{CPU: "x86_64", Listing: program}.Image(t)
	h := image.Header{Arch: like.Arch, Entry: 0x400000, Segments: image.Segments{
		{Addr: 0x400000, Size: uint64(len(text)), Data: text, Read: true, Exec: true},
		{Addr: 0x1800000, Size: uint64(len(data)), Data: data, Read: true}}}
	r := made(t, image.New(h, like.Container()))
	if len(r.Roots) == 0 || len(r.Roots[0].Open) == 0 || r.Calls < functions*calls/2 {
		t.Fatalf("%d functions, %d calls, roots %d", len(r.Functions), r.Calls, len(r.Roots))
	}
	t.Log(len(r.Functions), "functions,", r.Calls, "calls,", len(r.Open), "open")
}

// TestCancelled: a report that nobody waits for ends.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	img := codetest.Program{CPU: "x86_64", Listing: program}.Image(t)
	if _, err := stackdepth.Make(ctx, img, stackdepth.Options{}); err == nil {
		t.Error("no error")
	}
}
