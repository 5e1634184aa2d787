package discover

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

func entries(t testing.TB, p codetest.Program) *Entries { return New(disasm.Of(p.Image(t)), nil) }

func at(pc uint64) disasm.Addr    { return disasm.Addr{PC: pc} }
func thumb(pc uint64) disasm.Addr { return disasm.Addr{PC: pc, Mode: 1} }

// candidate tells whether a place is one.
func (e *Entries) candidate(a disasm.Addr) bool { return e.candidates().entries.has(a) }

// TestCalledFunctions: on x86 a byte e8 can be a part of another instruction, so that a
// target counts where it looks like a function's or two calls name it.
func TestCalledFunctions(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "x86_64", Listing: `
	1000 <f>:
		1000: e8 1b 00 00 00  call 1020     aligned
		1005: e8 1e 00 00 00  call 1028     once
		100a: e8 1d 00 00 00  call 102c     twice
		100f: e8 18 00 00 00  call 102c
		1014: e8 15 00 00 00  call 102e     endbr64
		1019: c3              ret
		1020: c3              ret
		1028: 90 90 90 c3
		102c: 90 c3
		102e: f3 0f 1e fa c3  endbr64; ret`})
	if want := []uint64{0x1000, 0x1020, 0x102c, 0x102e}; !slices.Equal(e.Certain(), want) {
		t.Errorf("functions begin at %#x, want %#x", e.Certain(), want)
	}
	if e.IsEntry(at(0x1028)) || !e.candidate(at(0x1028)) {
		t.Error("a target that one call names is a candidate")
	}
}

// TestImpossibleCalls: MIPS linkers place names and constants in the executable segment, of
// which some read as calls. In a file that is loaded anywhere jal is none, and jalx is none
// where all code is of one ISA mode.
func TestImpossibleCalls(t *testing.T) {
	p := codetest.Program{CPU: "mips o32", OneMode: true, Listing: `
	1000 <f>:
		1000: 04110007  bal    1020
		1004: 00000000  nop
		1008: 0c00040c  jal    1030
		100c: 00000000  nop
		1010: 74000410  jalx   1040
		1014: 00000000  nop
		1018: 0670000d  bltzal s3,1050
		1020: 03e00008  jr     ra
		1050: 03e00008  jr     ra`}
	for relocatable, want := range map[bool][]uint64{
		false: {0x1000, 0x1020, 0x1030},
		true:  {0x1000, 0x1020},
	} {
		p.Relocatable = relocatable
		if e := entries(t, p); !slices.Equal(e.Certain(), want) {
			t.Errorf("relocatable %t: functions begin at %#x, want %#x", relocatable, e.Certain(), want)
		}
	}
}

// TestDataThatReadsAsCall: words of a table that read as a call of the middle of a function, around
// which no code can stand, make that no function; a call in code does, and two of either kind.
func TestDataThatReadsAsCall(t *testing.T) {
	const function = `
		1000: 27bdffe0  addiu sp,sp,-32
		1004: 3c1c0058  lui   gp,0x58
		1008: 0399e021  addu  gp,gp,t9
		100c: 03e00008  jr    ra
		1010: 27bd0020  addiu sp,sp,32
		`
	for _, tt := range []struct {
		what, table string
		entry       bool
	}{
		{"a table", "1020: 0bfd0bfb 0c010bff 00000000 0c000402 00000000", false},
		{"a table that names the place twice", "1020: 0bfd0bfb 0c010bff 00000000 0c000402 00000000 0c000402 00000000", true},
		{"code", "1020: 27bdffe8 afbf0014 00000000 0c000402 00000000", true},
	} {
		e := entries(t, codetest.Program{CPU: "mips o32", OneMode: true, Listing: "1000 <f>:" + function + tt.table})
		if got := e.IsEntry(at(0x1008)); got != tt.entry {
			t.Errorf("%s: the middle of the function is one: %t", tt.what, got)
		}
		if !tt.entry && !e.candidate(at(0x1008)) {
			t.Errorf("%s: the place is no candidate", tt.what)
		}
	}
}

// TestFollowedCalls: where there are two instruction sets, calls are found by following
// what is declared, in the set that it is of.
func TestFollowedCalls(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: b510       push {r4, lr}
		400002: f000 f805  bl   400010
		400006: f000 e80c  blx  400020
		40000a: bd10       pop  {r4, pc}
		40000c: f000 f810  bl   400030      nothing leads here
		400010: 4770       bx   lr
		400020: e12fff1e   bx   lr          A32
		400030: 4770       bx   lr`})
	if want := []uint64{0x400001, 0x400011, 0x400020}; !slices.Equal(e.Certain(), want) {
		t.Errorf("functions begin at %#x, want %#x", e.Certain(), want)
	}
}

// TestTablesOfThumb: tables name no instruction set; a symbol at the same place does.
func TestTablesOfThumb(t *testing.T) {
	img := codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: b510       push {r4, lr}
		400002: bd10       pop  {r4, pc}
		400004: e12fff1e   bx   lr          A32, in the table alone`}.Image(t)
	e := New(disasm.Of(img), &Tables{Functions: func(_ *image.Image, yield func(lo, hi uint64) bool) {
		_ = yield(0x400000, 0x400004) && yield(0x400004, 0x400008)
	}})
	if want := []uint64{0x400001, 0x400004}; !slices.Equal(e.Certain(), want) {
		t.Errorf("functions begin at %#x, want %#x", e.Certain(), want)
	}
}

// TestFewDeclared: where a program declares hardly anything, calls are followed from the
// functions that data points to as well.
func TestFewDeclared(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "arm", Entry: 0x400001, Data: map[uint64][]uint64{0x410000: {0x400005}}, Listing: `
		400000: 4770       bx   lr
		400004: b510       push {r4, lr}
		400006: f000 f803  bl   400010
		40000a: bd10       pop  {r4, pc}
		400010: 4770       bx   lr`})
	if want := []uint64{0x400001, 0x400011}; !slices.Equal(e.Certain(), want) {
		t.Errorf("functions begin at %#x, want %#x", e.Certain(), want)
	}
}

// TestListedFunctions: where unwind tables cover the text, nothing else is looked for.
func TestListedFunctions(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x3000: {0x1010}}, Listing: `
		1000: e8 1b 00 00 00  call 1020
		1005: c3
		1010: c3
		1020: c3`}
	for _, tt := range []struct {
		hi                    uint64 // of the tables, from 0x1000 on
		all                   bool
		certain, starts, near []uint64
	}{
		{0x1010, false, []uint64{0x1000, 0x1020}, []uint64{0x1000, 0x1010, 0x1020}, []uint64{0x1010}},
		{0x1021, true, []uint64{0x1000}, []uint64{0x1000}, nil},
	} {
		e := New(disasm.Of(p.Image(t)), &Tables{Functions: func(_ *image.Image, yield func(lo, hi uint64) bool) { yield(0x1000, tt.hi) }})
		if !e.certain().tables || e.AllListed() != tt.all {
			t.Errorf("tables up to %#x: all listed: %t", tt.hi, e.AllListed())
		}
		if !slices.Equal(e.Certain(), tt.certain) || !slices.Equal(e.Starts(), tt.starts) {
			t.Errorf("tables up to %#x: entries %#x, worth an analysis %#x", tt.hi, e.Certain(), e.Starts())
		}
		if near := e.PointedBelow(at(0x1018)); !slices.Equal(near, tt.near) || (e.NextPointer(0x1000) == ^uint64(0)) != tt.all {
			t.Errorf("tables up to %#x: data points to %#x", tt.hi, near)
		}
	}
	if e := entries(t, p); e.certain().tables || e.AllListed() {
		t.Error("without tables")
	}
}

// TestGapBetweenListed: tables have all of the text but one function, which a call names: in there, as
// without tables; where tables have the function, calls are not looked for.
func TestGapBetweenListed(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Listing: `
		1000: e8 eb 00 00 00  call 10f0
		1005: c3
		10f0: c3
		1110: c3
		12ff: c3`}
	e := New(disasm.Of(p.Image(t)), &Tables{Functions: func(_ *image.Image, yield func(lo, hi uint64) bool) {
		_ = yield(0x1000, 0x10f0) && yield(0x1110, 0x1300)
	}})
	if !e.AllListed() || !e.Lists(0x1005) || e.Lists(0x10f0) {
		t.Errorf("all listed: %t, 0x1005: %t, 0x10f0: %t", e.AllListed(), e.Lists(0x1005), e.Lists(0x10f0))
	}
	if !e.IsEntry(at(0x10f0)) || !slices.Equal(e.Below(at(0x10f1)), []uint64{0x10f0, 0x1000}) {
		t.Errorf("in the gap begins no function: %#x", e.Below(at(0x10f1)))
	}
	if slices.Contains(e.Certain(), 0x10f0) {
		t.Error("what tables list was looked at")
	}
}

// TestImageStart: nothing called the code at the image's entry point.
func TestImageStart(t *testing.T) {
	const listing = "1000: c3\n1010: c3"
	e := entries(t, codetest.Program{CPU: "x86_64", Entry: 0x1010, Listing: listing})
	if !e.StartsImage(at(0x1010)) || e.StartsImage(at(0x1000)) || !e.IsEntry(at(0x1010)) {
		t.Error("the program begins at 1010")
	}
	if entries(t, codetest.Program{CPU: "x86_64", Listing: listing}).StartsImage(at(0)) {
		t.Error("a library does not begin")
	}
}

// TestNeighbours: entries around places, each in its instruction set.
func TestNeighbours(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
	400008 <g>:
	400010 <h>:
		400000: 4770 bf00
		400004: e12fff1e   bx lr           A32
		400008: f7ff effc  blx 400004
		40000c: 4770 bf00
		400010: 4770 bf00`})
	for _, tt := range []struct {
		of        disasm.Addr
		next, end uint64
		below     []uint64
	}{
		{thumb(0x400000), 0x400004, 0x400004, []uint64{0x400000}},
		{thumb(0x400006), 0x400008, 0x400010, []uint64{0x400000}},
		{at(0x40000c), 0x400010, 0x400010, []uint64{0x400004}},
		{thumb(0x400012), 0x400014, 0x400014, []uint64{0x400010, 0x400008, 0x400000}},
		{thumb(0x3ffffe), 0x400000, 0x400000, nil},
	} {
		if got := e.Next(tt.of.PC, 0); got != tt.next {
			t.Errorf("behind %#x: %#x, want %#x", tt.of.PC, got, tt.next)
		}
		if got := e.Next(tt.of.PC, 0x400008); got != tt.end {
			t.Errorf("behind %#x but 400008: %#x, want %#x", tt.of.PC, got, tt.end)
		}
		if got := e.Below(tt.of); !slices.Equal(got, tt.below) {
			t.Errorf("below %#x, mode %d: %#x, want %#x", tt.of.PC, tt.of.Mode, got, tt.below)
		}
	}
}

// TestFewBelow: of many entries below a place the nearest four are tried.
func TestFewBelow(t *testing.T) {
	var listing strings.Builder
	for i := range 10 {
		fmt.Fprintf(&listing, "%x <f%d>:\n%x: c3\n", 0x1000+16*i, i, 0x1000+16*i)
	}
	e := entries(t, codetest.Program{CPU: "x86_64", Listing: listing.String()})
	if got, want := e.Below(at(0x1084)), []uint64{0x1080, 0x1070, 0x1060, 0x1050}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

// TestTailCalls: jumps over a function lead to another one, or to a part of their own that
// was moved away, which is far; jumps within a function do neither.
func TestTailCalls(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "x86_64", Listing: `
	1000 <f>:
	1010 <g>:
	1020 <h>:
		1000: 74 02           je   1004
		1002: eb 00           jmp  1004
		1004: e9 97 00 00 00  jmp  10a0
		1010: 74 01           je   1013
		1012: c3              ret
		1013: eb 0f           jmp  1024
		1020: c3              ret
		1024: c3              ret
		10a0: c3              ret`})
	if !e.candidate(at(0x10a0)) || !e.candidate(at(0x1024)) || e.candidate(at(0x1004)) || e.candidate(at(0x1013)) {
		t.Errorf("candidates %#x", e.candidates().entries)
	}
	want := []cpu.CallRef{{Site: 0x1004, Target: 0x10a0}}
	if got := e.FarJumpsBelow(0x10a0); !slices.Equal(got, want) {
		t.Errorf("far jumps %+v, want %+v", got, want)
	}
	if got := e.FarJumpsBelow(0x109f); len(got) > 0 {
		t.Errorf("%+v lead to 10a0, which lies above", got)
	}
	if got := e.CandidatesBelow(at(0x10a4)); !slices.Equal(got, []uint64{0x10a0, 0x1024}) {
		t.Errorf("candidates below 10a4: %#x", got)
	}
}

// TestReturns: where the calls of a function return to, behind delay slots; of a function
// that many places call, none.
func TestReturns(t *testing.T) {
	for n, want := range map[int][]uint64{2: {0x400008, 0x400010}, 9: nil} {
		e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: "400000: " + strings.Repeat("0c100040 00000000 ", n)})
		if got := e.ReturnsOf(at(0x400100)); !slices.Equal(got, want) {
			t.Errorf("%d calls return to %#x, want %#x", n, got, want)
		}
	}
}
