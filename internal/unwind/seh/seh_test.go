package seh

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

const (
	base   = 0x1_4000_0000
	textAt = base + 0x1000
	infoAt = 0x3000 // relative to the base
)

// entry is a RUNTIME_FUNCTION: words relative to the base.
type entry []uint32

// program is an image with code, entries and what these point to.
func program(arch *cpu.Arch, code, info []byte, entries ...entry) *image.Image {
	var pdata []byte
	for _, e := range entries {
		for _, w := range e {
			pdata = append(pdata, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
	}
	return image.New(image.Header{Arch: arch, Segments: image.Segments{
		{Addr: textAt, Size: 0x1000, Data: append(code, make([]byte, 0x1000-len(code))...), Exec: true},
		{Addr: base + 0x2000, Size: uint64(len(pdata)), Data: pdata},
		{Addr: base + infoAt, Size: uint64(len(info)), Data: info},
	}, Tables: []image.Table{{Kind: image.RuntimeFunctions, Range: image.Range{Addr: base + 0x2000, Size: uint64(len(pdata))}, Base: base}}}, nil)
}

// rule is the rule at an offset in the code, "" where there is none. A minus before the offset asks for the place behind a call.
func rule(img *image.Image, at int64) string {
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: uint64(textAt + at), Resume: uint64(textAt + at), Exact: at >= 0}
	if at < 0 {
		q.Resume = uint64(textAt - at)
		q.PC = q.Resume - 1
	}
	var r stackwalk.Rule
	if v := (Source{}).Rule(&q, &r); v != unwind.Found {
		return v.String()
	}
	s := r.Format(img.Arch)
	if r.Flags&stackwalk.SignalFrame != 0 {
		s += " interrupted"
	}
	if r.Flags&stackwalk.SignedRA != 0 {
		s += " signed"
	}
	return s
}

// check compares the rules at places, in order.
func check(t *testing.T, img *image.Image, want []struct {
	at   int64
	rule string
}) {
	t.Helper()
	for _, w := range want {
		if got := rule(img, w.at); got != w.rule {
			t.Errorf("%+#x: %s\n want %s", w.at, got, w.rule)
		}
	}
}

type places = []struct {
	at   int64
	rule string
}

var x64, a64 = x86.Archs()[0], arm64.Archs()[0]

// TestX64: a function that pushes a register and makes room, at each instruction; a leaf; a jump to another function.
func TestX64(t *testing.T) {
	code := []byte{
		0x53,                   // 0   push rbx
		0x48, 0x83, 0xec, 0x20, // 1   sub rsp,32
		0xe8, 0, 0, 0, 0, // 5   call
		0x75, 0x06, // a   jne 12
		0x48, 0x83, 0xc4, 0x20, // c   add rsp,32
		0x5b,             // 10  pop rbx
		0xc3,             // 11  ret
		0x0f, 0x1f, 0x00, // 12  nop
		0x48, 0x83, 0xc4, 0x20, // 15  add rsp,32
		0x5b,                         // 19  pop rbx
		0xe9, 0xe1, 0x00, 0x00, 0x00, // 1a  jmp 100: a leaf
		0xe9, 0xe0, 0xff, 0xff, 0xff, // 1f  jmp 4: no epilogue
	}
	img := program(x64, code, []byte{1, 5, 2, 0, 5, 0x32, 1, 0x30}, entry{0x1000, 0x1024, infoAt})
	body := "CFA=rsp+48 RA=[CFA-8] rbx=[CFA-16]"
	check(t, img, places{
		{0x0, "CFA=rsp+8 RA=[CFA-8]"},
		{0x1, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{0x5, body},
		{-0xa, body}, // behind the call
		{0xc, body},  // the epilogue begins
		{0x10, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{0x11, "CFA=rsp+8 RA=[CFA-8]"},
		{0x12, body},
		{0x19, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{0x1a, "CFA=rsp+8 RA=[CFA-8]"},
		{0x1f, body},
		{0x100, "CFA=rsp+8 RA=[CFA-8]"}, // no entry: a leaf
		{-0x101, "not covered"},         // a leaf calls nobody
	})
}

// TestFramePointer: saved registers lie above the frame pointer's base as soon as that is set; alloca moves the stack pointer.
//
//	0   mov [rsp+8],rsi    (saved in the caller's room, told when the frame pointer is known)
//	5   push rbp
//	6   sub rsp,0x1000+… by two words
//	d   lea rbp,[rsp+0x20]
//	12  …
func TestFramePointer(t *testing.T) {
	code := make([]byte, 0x40)
	copy(code[0x20:], []byte{0x48, 0x8d, 0xa5, 0xe0, 0x0f, 0, 0, 0x5d, 0xc3}) // lea rsp,[rbp+0xfe0]; pop rbp; ret
	info := []byte{1, 0x12, 6, 0x25,
		0x12, 0x64, 0x02, 0x02, // SAVE_NONVOL rsi, 0x1010
		0x12, 0x03, // SET_FPREG rbp-32
		0x0d, 0x01, 0x00, 0x02, // ALLOC_LARGE 0x1000
		0x06, 0x50} // PUSH_NONVOL rbp
	check(t, program(x64, code, info, entry{0x1000, 0x1040, infoAt}), places{
		{0x6, "CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16]"},
		{0xd, "CFA=rsp+4112 RA=[CFA-8] rbp=[CFA-16]"},
		{0x12, "CFA=rbp+4080 RA=[CFA-8] rsi=[CFA+0] rbp=[CFA-16]"},
		{0x20, "CFA=rbp+4080 RA=[CFA-8] rbp=[CFA-16]"},
		{0x27, "CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16]"},
	})
}

// TestParts: a part of a function has its own codes and those of the whole, all of which ran; a part that GCC moved away repeats
// them and has no prologue, so that a jump there is no epilogue; an interrupt's frame has the program's stack pointer.
func TestParts(t *testing.T) {
	info := []byte{
		1, 1, 1, 0, 1, 0x30, 0, 0, // the whole: PUSH_NONVOL rbx
		1 | 4<<3, 4, 1, 0, 4, 0x12, 0, 0, 0, 0x10, 0, 0, 0x10, 0x10, 0, 0, 0x00, 0x30, 0, 0, // a part: ALLOC_SMALL 16
		1, 0, 1, 0, 0, 0x30, 0, 0, // cold: PUSH_NONVOL rbx, before its first instruction
		1, 0, 1, 0, 0, 0x1a, 0, 0, // PUSH_MACHFRAME with an error code
	}
	code := make([]byte, 0x100)
	copy(code[0x2:], []byte{0xe9, 0x39, 0, 0, 0}) // jmp 40: to the cold part
	check(t, program(x64, code, info, entry{0x1000, 0x1010, infoAt}, entry{0x1020, 0x1030, infoAt + 8}, entry{0x1040, 0x1050, infoAt + 28},
		entry{0x1060, 0x1070, infoAt + 36}), places{
		{0x2, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{0x20, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{0x24, "CFA=rsp+32 RA=[CFA-8] rbx=[CFA-16]"},
		{0x40, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{0x60, "CFA=[rsp+32] RA=[rsp+8] interrupted"},
	})
}

// start is a container whose only symbol is the function that threads begin in.
type start struct{ image.Container }

func (start) SymbolNamed(name string) (image.Symbol, bool) {
	return image.Symbol{Name: name, Addr: textAt}, name == "RtlUserThreadStart"
}

// TestOutermost: nobody calls the function that Windows starts threads in.
func TestOutermost(t *testing.T) {
	img := program(x64, nil, []byte{1, 4, 1, 0, 4, 0x42, 0, 0}, entry{0x1000, 0x1010, infoAt}, entry{0x1010, 0x1020, infoAt})
	check(t, image.New(img.Header, start{}), places{{0x8, "end of stack"}, {0x14, "CFA=rsp+48 RA=[CFA-8]"}})
}

// TestDamaged: a chain that returns to itself ends; codes that are cut, or that nobody knows, are no rule.
func TestDamaged(t *testing.T) {
	loop := []byte{1 | 4<<3, 0, 0, 0, 0, 0x10, 0, 0, 0x10, 0x10, 0, 0, 0x00, 0x30, 0, 0}
	check(t, program(x64, nil, loop, entry{0x1000, 0x1010, infoAt}), places{{0x4, "malformed"}})
	check(t, program(x64, nil, []byte{1, 0, 9, 0, 0, 1}, entry{0x1000, 0x1010, infoAt}), places{{0x4, "malformed"}})
	check(t, program(x64, nil, []byte{1, 0, 1, 0, 0, 0x0f, 0, 0}, entry{0x1000, 0x1010, infoAt}), places{{0x4, "unsupported"}})
	check(t, program(x64, nil, []byte{3, 0, 0, 0}, entry{0x1000, 0x1010, infoAt}), places{{0x4, "unsupported"}})
	check(t, program(a64, nil, []byte{4, 0, 0x40, 0x00}, entry{0x1000, infoAt}), places{{0x4, "malformed"}})
	check(t, program(a64, nil, nil, entry{0x1000, 0x13}), places{{0x4, "unsupported"}})
}

// TestXdata: a code for an instruction, in the prologue as in each epilogue; the functions may lack either.
//
//	0   pacibsp
//	4   stp x19,x20,[sp,#-48]!
//	8   stp x21,x22,[sp,#16]
//	c   stp x29,lr,[sp,#32]
//	10  add x29,sp,#32
//	14  …
//	20  ldp x29,lr,[sp,#32]; ldp x21,x22,[sp,#16]; ldp x19,x20,[sp],#48; autibsp; ret
func TestXdata(t *testing.T) {
	info := []byte{
		0x10, 0x00, 0x40, 0x18, // 64 bytes, one epilogue, three words of codes
		0x08, 0x00, 0x80, 0x01, // at instruction 8, codes from 6 on
		0xe2, 4, 0x44, 0xe6, 0x26, 0xfc, // add_fp 32; save_fplr 32; save_next; save_r19r20_x 48; pac_sign_lr
		0x44, 0xe6, 0x26, 0xfc, 0xe4, 0, // of the epilogue, and no end of the prologue but this
	}
	info[5+3] = 0xe2
	saved := " x19=[CFA-48] x20=[CFA-40]"
	check(t, program(a64, nil, info, entry{0x1000, infoAt}), places{
		{0x20, "CFA=sp+48 RA=[CFA-8] x29=[CFA-16] x19=[CFA-48] x20=[CFA-40] x21=[CFA-32] x22=[CFA-24] signed"},
		{0x24, "CFA=sp+48 RA=x30" + saved + " x21=[CFA-32] x22=[CFA-24] signed"},
		{0x28, "CFA=sp+48 RA=x30" + saved + " signed"},
		{0x2c, "CFA=sp RA=x30 signed"},
		{0x30, "CFA=sp RA=x30"},
	})
}

// TestPacked: the canonical prologue and epilogue of a word, instruction by instruction.
//
//	0   stp x19,x20,[sp,#-48]!      20  ldp x29,lr,[sp],#32
//	4   stp x21,lr,… (none: CR 3)   24  ldr x21,[sp,#16]
//	4   str x21,[sp,#16]            28  ldp x19,x20,[sp],#32
//	8   stp x29,lr,[sp,#-32]!       2c  ret
//	c   mov x29,sp
func TestPacked(t *testing.T) {
	word := func(flag, length, floats, ints, homes, cr, size uint32) uint32 {
		return flag | length/4<<2 | floats<<13 | ints<<16 | homes<<20 | cr<<21 | size/16<<23
	}
	img := program(a64, nil, nil, entry{0x1000, word(1, 0x30, 0, 3, 0, 3, 64)}, entry{0x1100, word(1, 0x40, 1, 1, 0, 1, 48)},
		entry{0x1200, word(2, 0x20, 0, 2, 0, 1, 32)}, entry{0x1300, word(1, 0x60, 0, 0, 1, 2, 4992)})
	ints := " x21=[CFA-16] x19=[CFA-32] x20=[CFA-24]"
	check(t, img, places{
		{0x0, "CFA=sp RA=x30"},
		{0x4, "CFA=sp+32 RA=x30 x19=[CFA-32] x20=[CFA-24]"},
		{0x8, "CFA=sp+32 RA=x30" + ints},
		{0xc, "CFA=sp+64 RA=[CFA-56] x29=[CFA-64]" + ints},
		{0x10, "CFA=x29+64 RA=[CFA-56] x29=[CFA-64]" + ints},
		{-0x18, "CFA=x29+64 RA=[CFA-56] x29=[CFA-64]" + ints},
		{0x20, "CFA=sp+64 RA=[CFA-56] x29=[CFA-64]" + ints},
		{0x24, "CFA=sp+32 RA=x30" + ints},
		{0x28, "CFA=sp+32 RA=x30 x19=[CFA-32] x20=[CFA-24]"},
		{0x2c, "CFA=sp RA=x30"},
		{0x110, "unsupported"},                                     // x19 alone with lr: no such store moves the stack pointer
		{0x200, "CFA=sp+32 RA=[CFA-16] x19=[CFA-32] x20=[CFA-24]"}, // a part: the frame was made elsewhere
		{0x308, "CFA=sp+64 RA=x30 signed"},                         // arguments saved, which makes the room
		{0x320, "CFA=sp+4992 RA=[CFA-4984] x29=[CFA-4992] signed"},
		{0x324, "CFA=x29+4992 RA=[CFA-4984] x29=[CFA-4992] signed"},
	})
}

// TestRows: the listing has each instruction of each entry once, with its rule; entries that overlap are cut.
func TestRows(t *testing.T) {
	code := []byte{0x53, 0x48, 0x83, 0xec, 0x20, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3} // push, sub, call, add, pop, ret
	img := program(x64, code, []byte{1, 5, 2, 0, 5, 0x32, 1, 0x30}, entry{0x1000, 0x1010, infoAt}, entry{0x1008, 0x1014, infoAt})
	var got []string
	next := uint64(textAt)
	Source{}.Rows(img, func(lo, hi uint64, r *stackwalk.Rule) bool {
		if lo != next || r.Format(img.Arch) != rule(img, int64(lo-textAt)) {
			t.Errorf("%#x to %#x: %s, want %s", lo, hi, r.Format(img.Arch), rule(img, int64(lo-textAt)))
		}
		got, next = append(got, r.Format(img.Arch)), hi
		return true
	})
	if next != textAt+0x14 || got[0] != "CFA=rsp+8 RA=[CFA-8]" || got[2] != "CFA=rsp+48 RA=[CFA-8] rbx=[CFA-16]" || got[5] != got[0] {
		t.Errorf("%#x: %q", next, got)
	}
	arm := program(a64, nil, nil, entry{0x1000, 1 | 12<<2 | 3<<21 | 2<<23})
	rows := 0
	Source{}.Rows(arm, func(lo, hi uint64, _ *stackwalk.Rule) bool {
		rows++
		return hi == lo+4 && rows < 8
	})
	if rows != 8 {
		t.Errorf("%d rows before the listing was left", rows)
	}
}

// TestNotes: explanations are in the specifications' words.
func TestNotes(t *testing.T) {
	notes := func(img *image.Image) string {
		return strings.Join(Source{}.Notes(&stackwalk.Query{Image: img, Arch: img.Arch, PC: textAt + 4}), "\n")
	}
	want := "entry 0x0000000140001000 to 0x0000000140001024\nversion 1, prologue of 5 bytes\n0x05: ALLOC_SMALL size=32\n0x01: PUSH_NONVOL reg=RBX"
	if got := notes(program(x64, nil, []byte{1, 5, 2, 0, 5, 0x32, 1, 0x30}, entry{0x1000, 0x1024, infoAt})); got != want {
		t.Error(got)
	}
	want = "entry 0x0000000140001000 to 0x0000000140001030\npacked, 48 bytes\nprologue, backwards: mov x29, sp; stp x29, lr, [sp, #-32]!; end\n" +
		"epilogue at 0x0000000140001028: stp x29, lr, [sp, #-32]!; end"
	if got := notes(program(a64, nil, nil, entry{0x1000, 1 | 12<<2 | 3<<21 | 2<<23})); got != want {
		t.Error(got)
	}
}

// FuzzRule: whatever tables and code say, an answer comes and nothing panics.
func FuzzRule(f *testing.F) {
	f.Add([]byte{0x53, 0x48, 0x83, 0xec, 0x20, 0x5b, 0xc3}, []byte{1, 5, 2, 0, 5, 0x32, 1, 0x30}, uint32(infoAt), uint8(5), false)
	f.Add([]byte{}, []byte{0x10, 0x00, 0x40, 0x18, 0x08, 0x00, 0x80, 0x01, 0xe2, 4, 0x44, 0xe6, 0x26, 0xfc, 0xe4}, uint32(infoAt), uint8(8), true)
	f.Add([]byte{}, []byte{}, uint32(0x1234_5671), uint8(8), true)
	f.Fuzz(func(t *testing.T, code, info []byte, word uint32, at uint8, arm bool) {
		code = code[:min(len(code), 0x100)]
		img := program(x64, code, info, entry{0x1000, 0x1080, word})
		if arm {
			img = program(a64, code, info, entry{0x1000, word})
		}
		rule(img, int64(at))
		rule(img, -int64(at)-1)
		Source{}.Notes(&stackwalk.Query{Image: img, Arch: img.Arch, PC: textAt + uint64(at)})
	})
}
