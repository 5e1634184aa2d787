package code

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// thumb is an analysis of halfwords at 0x400000, all Thumb, whose one symbol is at
// the first.
func thumb(t testing.TB, halves ...uint16) *analysis {
	var code []byte
	for _, h := range halves {
		code = binary.LittleEndian.AppendUint16(code, h)
	}
	a := arch(t, "arm", "", false)
	seg := image.Segment{Addr: text, Size: uint64(len(code)), Data: code, Read: true, Exec: true}
	c := &functionsOnly{entries: []uint64{text}, mode: 1}
	return New(nil).of(image.New(image.Header{Path: "program", Arch: a, Segments: []image.Segment{seg}}, c))
}

// TestPoolBetweenFunctions: nobody names the function behind the pool, whose words
// decode as code that uses r6 and r7 as no function does at its beginning.
func TestPoolBetweenFunctions(t *testing.T) {
	an := thumb(t,
		0x4b01,         // 0: ldr r3, [pc, #4]
		0x447b,         // 2: add r3, pc
		0x4770,         // 4: bx lr
		0xbf00,         // 6: nop
		0x8ab0, 0x0009, // 8: .word 0x98ab0; ldrh r0, [r6, #20]
		0xb510,         // c: push {r4, lr}
		0xf000, 0xf812, // e: bl 400036
		0xbd10, // 12: pop {r4, pc}
	)
	f := an.function(text, 1)
	if next := f.skipData(f.contiguousEnd(), 1); next != text+0xc {
		t.Fatalf("the next function is at %#x", next)
	}
	d := derivation{an: an, place: place{pc: text + 0xe, site: text + 0xe, mode: 1, exact: true}}
	d.partition([]uint64{text})
	if len(d.rules) == 0 || d.rules[0].Format(an.arch) != "CFA=sp+8 RA=lr r4=[CFA-8]" && d.rules[0].Format(an.arch) != "CFA=sp+8 RA=lr" {
		t.Errorf("behind push {r4, lr}: %d rules", len(d.rules))
	}
}

// TestCallBeforePool: a call that a literal pool stands behind never returns.
func TestCallBeforePool(t *testing.T) {
	an := thumb(t,
		0xb510,         // 0: push {r4, lr}
		0x4801,         // 2: ldr r0, [pc, #4]
		0xf000, 0xf812, // 4: bl 40002c
		0x8ab0, 0x0009, // 8: .word 0x98ab0
		0x4770, // c: bx lr
	)
	f := an.function(text, 1)
	if !f.dead[text+4] || f.returns {
		t.Errorf("dead %v, returns %t", f.dead, f.returns)
	}
}

// TestSavedDeadLink: behind a call of a function that is not at hand another
// function begins, for it saves LR. An mcount before the prologue is not such a call.
func TestSavedDeadLink(t *testing.T) {
	an := thumb(t,
		0xb510,         // 0: push {r4, lr}
		0xf000, 0xf814, // 2: bl 40002e
		0xb570, // 6: push {r4, r5, r6, lr}
		0xbd70, // 8: pop {r4, r5, r6, pc}
	)
	if f := an.function(text, 1); !f.dead[text+2] {
		t.Error("push {r4, r5, r6, lr} runs in the function that has called")
	}
	an = thumb(t,
		0xf000, 0xf814, // 0: bl _mcount
		0xb570, // 4: push {r4, r5, r6, lr}
		0xbd70, // 6: pop {r4, r5, r6, pc}
	)
	if f := an.function(text, 1); f.dead[text] {
		t.Error("mcount never returns")
	}
}

// TestOffsetIsNoPointer: a literal to which the code adds the PC is none, though it
// looks like an address of the text; one that is passed on is one.
func TestOffsetIsNoPointer(t *testing.T) {
	an := thumb(t,
		0x4802,         // 0: ldr r0, [pc, #8]
		0x4478,         // 2: add r0, pc
		0x4902,         // 4: ldr r1, [pc, #8]
		0xf000, 0xf810, // 6: bl 40002a
		0xbf00,         // a: nop
		0x0015, 0x0040, // c: .word 0x400015
		0x0019, 0x0040, // 10: .word 0x400019
		0x4770, 0xbf00, // 14: bx lr; nop
		0x4770, // 18: bx lr
	)
	if an.addressTaken(text+0x14, 1) {
		t.Error("an offset is taken for a pointer")
	}
	if !an.addressTaken(text+0x18, 1) {
		t.Error("an address is not")
	}
}

// TestLabelWithoutReturn: a word that happens to be the address of a place within a
// function that never returns is no function: nothing saves the return address there.
func TestLabelWithoutReturn(t *testing.T) {
	data := image.Segment{Addr: 0x50_0000, Size: 8, Data: words(text, text+0x10), Read: true}
	img := program(arch(t, "mips", "o32", true), words(allocate, saveRA, jal(text+0x800), nop, nop, jal(text+0x800), nop, loop, nop),
		[]image.Segment{data})
	an := New(nil).of(img)
	for pc, want := range map[uint64]string{text: "CFA=sp RA=ra", text + 0x10: "CFA=sp+24 RA=[CFA-4]", text + 0x14: "CFA=sp+24 RA=[CFA-4]"} {
		if got := first(t, an, pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
}

// TestGotoInFront: the labels of a computed goto in the function that this one ends
// with a jump to do not lie behind this one.
func TestGotoInFront(t *testing.T) {
	an := thumb(t,
		0xb510, // 0: push {r4, lr}
		0x4687, // 2: mov pc, r0
		0x2101, // 4: movs r1, #1
		0xe7fb, // 6: b.n 400000
		0xb510, // 8: push {r4, lr}
		0xbd10, // a: pop {r4, pc}
	)
	if b, _ := an.function(text+4, 1).at(text + 8); b != nil {
		t.Error("the next function is a label")
	}
	if b, _ := an.function(text, 1).at(text + 4); b == nil {
		t.Error("what follows the goto is none")
	}
}

// TestPadThatCalls: code behind a function that calls and has the return address
// nowhere is entered by the runtime, with the function's frame.
func TestPadThatCalls(t *testing.T) {
	an := thumb(t,
		0xb510,         // 0: push {r4, lr}
		0xf000, 0xf814, // 2: bl 40002e
		0xbd10,         // 6: pop {r4, pc}
		0x4604,         // 8: mov r4, r0
		0xf000, 0xf810, // a: bl 40002e
		0x4620,         // e: mov r0, r4
		0xf000, 0xf80d, // 10: bl _Unwind_Resume
	)
	got := answers(an.src, &unwind.Query{Image: an.img, Arch: an.arch, PC: text + 0xd, Resume: text + 0xe, Mode: 1})
	if len(got) == 0 || got[0] != "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]" {
		t.Errorf("behind the pad's call: %q", got)
	}
}

// TestJumpByWord: a PLT's first entry jumps through one word with another pushed, which
// leads to no labels.
func TestJumpByWord(t *testing.T) {
	code := []byte{
		0xff, 0x35, 2, 0x10, 0, 0, // push 0x1002(%rip)
		0xff, 0x25, 4, 0x10, 0, 0, // jmp *0x1004(%rip)
		0x0f, 0x1f, 0x40, 0, // nop
		0xc3, // ret
	}
	f := New(nil).of(program(arch(t, "x86_64", "", false), code, nil, text)).function(text, 0)
	if len(f.open) > 0 || len(f.labels) > 0 || f.complete {
		t.Errorf("%d open jumps, labels %#x, complete: %t", len(f.open), f.labels, f.complete)
	}
}
