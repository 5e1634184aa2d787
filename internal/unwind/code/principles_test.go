package code

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// The programs of these tests are MIPS o32 big-endian words at 0x400000.
const text = 0x40_0000

func arch(t testing.TB, name, abi string, big bool) *cpu.Arch {
	t.Helper()
	a, ok := captured.Archs().ByName(name, abi, big)
	if !ok {
		t.Fatal("no ", name)
	}
	return a
}

// program is an image of one executable segment; entries are where symbols say
// that functions begin.
func program(a *cpu.Arch, code []byte, data []image.Segment, entries ...uint64) *image.Image {
	segs := append([]image.Segment{{Addr: text, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}, data...)
	return image.New(image.Header{Path: "program", Arch: a, Segments: segs}, &functionsOnly{entries: entries})
}

func words(ws ...uint32) (b []byte) {
	for _, w := range ws {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// mips is an analysis of such words.
func mips(t testing.TB, entries []uint64, ws ...uint32) *analysis {
	return New(nil).of(program(arch(t, "mips", "o32", true), words(ws...), nil, entries...))
}

const (
	nop       = 0x00000000
	jrRA      = 0x03e00008
	allocate  = 0x27bdffe8 // addiu sp,sp,-24
	release   = 0x27bd0018 // addiu sp,sp,24
	saveRA    = 0xafbf0014 // sw ra,20(sp)
	restoreRA = 0x8fbf0014 // lw ra,20(sp)
	loop      = 0x1000ffff // b .
)

func jal(to uint64) uint32 { return 0x0c000000 | uint32(to>>2)&0x3ffffff }
func j(to uint64) uint32   { return 0x08000000 | uint32(to>>2)&0x3ffffff }

// first is the first answer for an exact place.
func first(t testing.TB, an *analysis, pc uint64) string {
	t.Helper()
	if a := answers(an.src, &unwind.Query{Image: an.img, Arch: an.arch, PC: pc, Exact: true}); len(a) > 0 {
		return a[0]
	}
	return "none"
}

// TestJoin: what holds on both of two paths.
func TestJoin(t *testing.T) {
	a := arch(t, "mips", "o32", true)
	s0, _ := a.RegByName("s0")
	sp := startOf(a.SP)
	var x, y state
	x.reset(a)
	y.reset(a)
	if x.join(&y) {
		t.Error("equal states lose something")
	}
	x.store(sp.plus(-4), startOf(a.LR), 4)
	x.store(sp.plus(-8), startOf(s0), 4)
	y.store(sp.plus(-4), startOf(a.LR), 4)
	y.regs[s0] = constant(7)
	if !x.join(&y) || x.regs[s0].kind != unknown || x.regs[a.SP] != sp {
		t.Errorf("s0 is %+v, SP %+v", x.regs[s0], x.regs[a.SP])
	}
	if got := x.load(sp.plus(-4), 4); got != startOf(a.LR) {
		t.Errorf("what both stored is %+v", got)
	}
	if len(x.slots) != 1 {
		t.Errorf("%d slots; only one path saved s0", len(x.slots))
	}
	if x.join(&y) {
		t.Error("joining again loses more")
	}
}

// TestSlots: overlapping stores, loads of a part, and an upper bound.
func TestSlots(t *testing.T) {
	a := arch(t, "mips", "o32", true)
	sp := startOf(a.SP)
	var s state
	s.reset(a)
	s.store(sp, constant(1), 4)
	s.store(sp.plus(4), constant(2), 4)
	s.store(sp.plus(2), constant(3), 4) // overwrites halves of both
	if v := s.load(sp, 4); v.kind != unknown {
		t.Errorf("an overwritten slot holds %+v", v)
	}
	if v := s.load(sp.plus(2), 4); v != constant(3) {
		t.Errorf("the new slot holds %+v", v)
	}
	if v := s.load(sp.plus(2), 2); v.kind != unknown {
		t.Errorf("half of a slot is %+v", v)
	}
	if v := s.load(sp.plus(16), 4); v != (value{kind: contents, base: base(a.SP), off: 16}) {
		t.Errorf("untouched memory is %+v", v)
	}
	for i := range int64(1000) {
		s.store(sp.plus(-4*i), constant(i), 4)
	}
	if len(s.slots) > maxSlots {
		t.Errorf("%d slots are remembered", len(s.slots))
	}
}

// TestUnknownSum: sums with what is not known are not known, and constants wrap
// as registers do.
func TestUnknownSum(t *testing.T) {
	if v := (value{}).plus(4); v.kind != unknown {
		t.Errorf("unknown+4 = %+v", v)
	}
	if v := (value{kind: contents, off: 8}).plus(1 << 40); v.kind != unknown {
		t.Errorf("a stored word plus 2⁴⁰ = %+v", v)
	}
	if v := constant(0x8000_0000).truncate(8); v != constant(-0x8000_0000) {
		t.Errorf("a 32-bit result is %+v", v)
	}
	if v := startOf(3).truncate(8); v.kind != unknown {
		t.Errorf("32 bits of an address are %+v", v)
	}
}

// TestConflict: control that falls through a call comes to a place where SP is
// known to be different. That path does not exist: the call never returns. The
// rest of the function is judged without it.
func TestConflict(t *testing.T) {
	an := mips(t, []uint64{text},
		0x10800005, nop, // 00 beqz a0,18
		allocate, saveRA, // 08
		jal(0x500000), nop, // 10 somebody outside, in truth abort
		jrRA, nop, // 18 reached with SP as on entry
	)
	f := an.function(text, 0)
	if !f.dead[text+0x10] {
		t.Error("the call is taken to return")
	}
	for pc, want := range map[uint64]string{text + 0x14: "CFA=sp+24 RA=[CFA-4]", text + 0x18: "CFA=sp RA=ra"} {
		if got := first(t, an, pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
	if !f.complete || f.unbalanced {
		t.Errorf("complete %v, unbalanced %v", f.complete, f.unbalanced)
	}
}

// TestNeverReturns: what ends in an endless loop, a trap or a call of such a
// function does not return; recursion, depth and unknown code are given the
// benefit of the doubt.
func TestNeverReturns(t *testing.T) {
	const die, wrapper, both, again, deep = text, text + 0x10, text + 0x30, text + 0x60, text + 0x80
	an := mips(t, []uint64{die, wrapper, both, again, deep},
		loop, nop, nop, nop, // 00 die
		allocate, saveRA, jal(die), nop, restoreRA, jrRA, release, nop, // 10 wrapper: the way back is not reached
		0x10800003, nop, jal(die), nop, jrRA, nop, nop, nop, nop, nop, nop, nop, // 30 both: one path returns
		allocate, jal(again), nop, release, jrRA, nop, nop, nop, // 60 again calls itself
		jal(deep+0x10), nop, loop, nop, // 80 a chain of calls
		jal(deep+0x20), nop, loop, nop,
		jal(deep+0x30), nop, loop, nop,
		jal(deep+0x40), nop, loop, nop,
		jrRA, nop,
	)
	for to, never := range map[uint64]bool{die: true, wrapper: true, both: false, again: false, 0x500000: false} {
		if got := an.neverReturns(jump{to, 0}); got != never {
			t.Errorf("%#x never returns: %v", to, got)
		}
	}
}

// TestRealignedReturns: SP out of a register that nobody preserves is another stack, but
// not where the return address lies in front of what the register points to.
func TestRealignedReturns(t *testing.T) {
	a := arch(t, "i386", "", false)
	code := []byte{
		0x8d, 0x4c, 0x24, 4, // 00 lea 4(%esp),%ecx
		0x83, 0xe4, 0xe0, // 04 and $-32,%esp
		0xff, 0x71, 0xfc, // 07 push -4(%ecx)
		0x51,             // 0a push %ecx
		0x59,             // 0b pop %ecx
		0x8d, 0x61, 0xfc, // 0c lea -4(%ecx),%esp
		0xc3,       // 0f ret
		0x89, 0xcc, // 10 mov %ecx,%esp
		0xc3, // 12 ret
	}
	an := New(nil).of(program(a, code, nil, text, text+0x10))
	if an.neverReturns(jump{text, 0}) {
		t.Error("a function that realigns its stack does not return")
	}
	if !an.neverReturns(jump{text + 0x10, 0}) {
		t.Error("one that leaves for another stack does")
	}
}

// TestPops: x86 functions that remove their arguments, seen through the caller.
func TestPops(t *testing.T) {
	a := arch(t, "i386", "", false)
	code := []byte{
		0x6a, 1, 0x6a, 2, // 00 push 1; push 2
		0xe8, 7, 0, 0, 0, // 04 call 10
		0x31, 0xc0, // 09 xor eax,eax
		0xc3,                   // 0b ret
		0x90, 0x90, 0x90, 0x90, // 0c
		0xc2, 8, 0, // 10 ret 8
	}
	an := New(nil).of(program(a, code, nil, text, text+0x10))
	if n := an.callee(jump{text + 0x10, 0}).pops; n != 8 {
		t.Errorf("it pops %d bytes", n)
	}
	if got := first(t, an, text+0xb); got != "CFA=esp+4 RA=[CFA-4]" {
		t.Errorf("behind the call: %s", got)
	}
}

// TestJumpTable: the comparison bounds the table: the word behind it, which points
// into another function, is not followed.
func TestJumpTable(t *testing.T) {
	code := words(
		allocate, saveRA, // 00
		0x2c820002,               // 08 sltiu v0,a0,2
		0x10400007,               // 0c beqz v0,2c
		0x00042080,               // 10 sll a0,a0,2
		0x3c020041,               // 14 lui v0,0x41
		0x00441021,               // 18 addu v0,v0,a0
		0x8c420000,               // 1c lw v0,0(v0)
		0x00400008,               // 20 jr v0
		nop,                      // 24
		nop,                      // 28
		restoreRA, jrRA, release, // 2c default
		jal(0x500000), nop, j(text+0x2c), nop, // 38 case 0
		jal(0x500000), nop, j(text+0x2c), nop, // 48 case 1
		jrRA, nop, // 58 another function
	)
	table := image.Segment{Addr: 0x41_0000, Size: 12, Data: words(text+0x38, text+0x48, text+0x58), Read: true}
	an := New(nil).of(program(arch(t, "mips", "o32", true), code, []image.Segment{table}, text))
	f := an.function(text, 0)
	var starts []uint64
	for _, b := range f.blocks {
		starts = append(starts, b.start-text)
	}
	for at, want := range map[uint64]bool{0x38: true, 0x48: true, 0x58: false} {
		if slices.Contains(starts, at) != want {
			t.Errorf("%#x followed: %v; blocks begin at %#x", at, !want, starts)
		}
	}
	if got := first(t, an, text+0x48); got != "CFA=sp+24 RA=ra" {
		t.Errorf("case 1: %s", got)
	}
}

// TestComputedGoto: jumps that cannot be resolved lead to what nothing else
// reaches, with the frame of the jump, and the flow is not complete. Labels are
// reached from behind calls as well, so that RA is nowhere but in its slot.
func TestComputedGoto(t *testing.T) {
	an := mips(t, []uint64{text},
		allocate, saveRA, // 00
		0x00800008, nop, // 08 jr a0
		jal(0x500000), nop, // 10 a label
		0x00400008, nop, // 18 jr v0
		restoreRA, jrRA, release, // 20 another
	)
	f := an.function(text, 0)
	for pc, want := range map[uint64]string{8: "CFA=sp+24 RA=ra", 0x10: "CFA=sp+24 RA=[CFA-4]", 0x20: "CFA=sp+24 RA=[CFA-4]", 0x24: "CFA=sp+24 RA=ra"} {
		if got := first(t, an, text+pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
	if f.complete {
		t.Error("the flow of unresolved jumps is called complete")
	}
}

// TestGotoTable: the same where the first jump goes through a table and the second
// is not understood: its table's address is in a register that the callee is known
// to spare (gcc -fipa-ra).
func TestGotoTable(t *testing.T) {
	code := words(
		allocate, saveRA, // 00
		0x3c030041, 0x00042080, 0x00642021, // 08 lui v1,0x41; sll a0,a0,2; addu a0,v1,a0
		0x8c820000, 0x00400008, nop, // 14 lw v0,0(a0); jr v0
		jal(0x500000), nop, // 20 a label
		0x8c620004, 0x00400008, nop, // 28 lw v0,4(v1); jr v0
		restoreRA, jrRA, release, // 34 another
		jrRA, nop, // 40 another function's end, where something else is read as an element
	)
	table := image.Segment{Addr: 0x41_0000, Size: 12, Data: words(text+0x20, text+0x34, text+0x40), Read: true}
	an := New(nil).of(program(arch(t, "mips", "o32", true), code, []image.Segment{table}, text))
	for pc, want := range map[uint64]string{0x1c: "CFA=sp+24 RA=ra", 0x20: "CFA=sp+24 RA=[CFA-4]", 0x28: "CFA=sp+24 RA=[CFA-4]", 0x34: "CFA=sp+24 RA=[CFA-4]", 0x38: "CFA=sp+24 RA=ra"} {
		if got := first(t, an, text+pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
}

// TestPointerTable: a jump through an element of a table of functions, with the
// frame gone, is a tail call. What follows is another function, though nobody knows.
func TestPointerTable(t *testing.T) {
	code := words(
		allocate, saveRA, jal(0x500000), nop, // 00
		0x3c030041, 0x00021080, 0x00431021, // 10 lui v1,0x41; sll v0,v0,2; addu v0,v0,v1
		0x8c590000, restoreRA, 0x03200008, release, // 1c lw t9,0(v0); …; jr t9
		allocate, saveRA, jal(0x500000), nop, loop, nop, // 2c
	)
	table := image.Segment{Addr: 0x41_0000, Size: 4, Data: words(0x50_0000), Read: true}
	an := New(nil).of(program(arch(t, "mips", "o32", true), code, []image.Segment{table}, text))
	f := an.function(text, 0)
	if b, _ := f.at(text + 0x2c); b != nil {
		t.Errorf("goes on at %#x", b.start)
	}
	if !f.returns || f.complete {
		t.Errorf("returns %v, complete %v", f.returns, f.complete)
	}
}

// TestOutlinedEnd: clang outlines the ends of functions that have a frame pointer.
// SP out of it is the caller's stack still.
func TestOutlinedEnd(t *testing.T) {
	code := []byte("\xbf\x03\x00\x91\xf4\x4f\x43\xa9\xc0\x03\x5f\xd6") // mov sp,x29; ldp x20,x19,[sp,#48]; ret
	an := New(nil).of(program(arch(t, "aarch64", "", false), code, nil, text))
	if got := first(t, an, text+4); got != "CFA=sp RA=x30 x19=[CFA+56] x20=[CFA+48]" {
		t.Error(got)
	}
}

// TestGivesUpRegister: a guessed beginning that leads to a place with a preserved
// register overwritten and not saved is none: what returns behind calls say is believed
// before it. So are the jumps into a function from a part of it that nobody knows.
func TestGivesUpRegister(t *testing.T) {
	an := mips(t, []uint64{text},
		jrRA, nop,
		0x24100005, 0x10000004, nop, // 08 li s0,5; b 20
		allocate, saveRA, 0xafb00010, // 14 sw s0,16(sp)
		jal(0x500000), nop, jal(0x500000), nop, // 20
		0x8fb00010, restoreRA, jrRA, release, // 30 lw s0,16(sp)
	)
	if got := first(t, an, text+0x20); got != "CFA=sp+24 RA=[CFA-4] s0=[CFA-8]" {
		t.Error(got)
	}
}

// TestSwitchedStack: behind a switch of SP there is no caller, not even by the
// returns that follow. So is glibc's __longjmp for MIPS, whose second return stands
// behind a loop that nothing enters.
func TestSwitchedStack(t *testing.T) {
	an := mips(t, []uint64{text},
		0x8c990000, 0x8c9d0004, // 00 lw t9,0(a0); lw sp,4(a0)
		0x14a00005, nop, // 08 bnez a1,20
		0x03200008, 0x24020001, // 10 jr t9; li v0,1
		loop, nop, // 18
		0x03200008, 0x00a01025, // 20 jr t9; move v0,a1
	)
	for pc, want := range map[uint64]string{4: "CFA=sp RA=ra", 8: "none", 0x10: "none", 0x20: "none"} {
		if got := first(t, an, text+pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
}

// TestImageEntry: the code that the program starts with has no caller.
func TestImageEntry(t *testing.T) {
	img := image.New(image.Header{Path: "p", Arch: arch(t, "mips", "o32", true), Entry: text, Segments: []image.Segment{
		{Addr: text, Size: 24, Data: words(allocate, jal(0x500000), nop, loop, nop, nop), Read: true, Exec: true}}}, nil)
	var r unwind.Rule
	q := unwind.Query{Image: img, Arch: img.Arch, PC: text + 0xb, Resume: text + 0xc}
	if v := New(nil).Rule(&q, &r); v != unwind.EndOfStack {
		t.Errorf("%v", v)
	}
}

// TestNotCode: places without code, without a call before them, and processors
// without a decoder have no rule.
func TestNotCode(t *testing.T) {
	an := mips(t, nil, jrRA, nop)
	var r unwind.Rule
	for _, q := range []unwind.Query{
		{PC: 0x100, Exact: true},
		{PC: text + 8, Exact: true},
		{PC: text + 7, Resume: text + 8},
		{PC: ^uint64(0), Resume: 0},
	} {
		q.Image, q.Arch = an.img, an.arch
		if v := an.src.Rule(&q, &r); v != unwind.NotCovered {
			t.Errorf("%#x: %v", q.PC, v)
		}
	}
	blind := *an.arch
	blind.Decoder = nil
	if v := an.src.Rule(&unwind.Query{Image: an.img, Arch: &blind, PC: text, Exact: true}, &r); v != unwind.NotCovered {
		t.Errorf("without a decoder: %v", v)
	}
}

// TestConcurrent: walkers share what is known of an image.
func TestConcurrent(t *testing.T) {
	l := parseListing(t, "testdata/mips-switch.txt")
	s, img := New(nil), l.image(true)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range l.lines {
				ll := &l.lines[(i+n*17)%len(l.lines)]
				l.places(img, ll, func(q *unwind.Query, want string) {
					if got := answers(s, q); len(got) == 0 || got[0] != want {
						t.Errorf("%x: %q, want %q", ll.pc, got, want)
					}
				})
			}
		}()
	}
	wg.Wait()
}

// TestABIFallback: the ABI's method knows what the others cannot: a frame in code
// that nothing leads to and that never returns. Its answer is a fallback.
func TestABIFallback(t *testing.T) {
	an := mips(t, nil,
		jrRA, nop, // 00 the end of what stands before
		allocate, saveRA, 0xafb00010, // 08 and sw s0,16(sp)
		0x00808025,      // 14 move s0,a0
		0x14800002,      // 18 bnez a0,24
		nop,             // 1c
		0x00800008, nop, // 20 jr a0
		jal(0x500000), nop, // 28
		loop, nop, // 30
	)
	var r unwind.Rule
	if v := an.src.Rule(&unwind.Query{Image: an.img, Arch: an.arch, PC: text + 0x30, Exact: true}, &r); v != unwind.Found {
		t.Fatal(v)
	}
	if got := r.Format(an.arch); got != "CFA=sp+24 RA=[CFA-4] s0=[CFA-8]" || r.Flags != unwind.Fallback {
		t.Errorf("%s, flags %b", got, r.Flags)
	}
	riscv := New(nil).of(program(arch(t, "riscv64", "", false), make([]byte, 64), nil))
	if riscv.abiRule(place{site: text + 32, pc: text + 32, exact: true}, &r) {
		t.Error("instructions of two sizes were scanned upwards")
	}
}

// TestGapEndsAtFunction: what lies behind a function with a jump to unknown places,
// and returns with everything as it was at its first instruction, is the next
// function, not one of these places.
func TestGapEndsAtFunction(t *testing.T) {
	const allocate40, release40, saveRA36, restoreRA36 = 0x27bdffd8, 0x27bd0028, 0xafbf0024, 0x8fbf0024
	an := mips(t, []uint64{text},
		allocate, saveRA, jal(text), nop, 0x00400008, nop, // jr v0
		restoreRA, jrRA, release, // a label
		allocate40, saveRA36, jal(text), nop, restoreRA36, jrRA, release40)
	for pc, want := range map[uint64]string{text + 24: "CFA=sp+24 RA=[CFA-4]", text + 36: "CFA=sp RA=ra", text + 52: "CFA=sp+40 RA=[CFA-4]"} {
		if got := first(t, an, pc); !strings.HasPrefix(got, want) {
			t.Errorf("at %x %s, want %s", pc, got, want)
		}
	}
}
