package edges

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// placed is a program where it was linked, and a capture of it with a stack.
func placed(t *testing.T, p codetest.Program, words ...uint64) (*target.Module, *target.Snapshot) {
	img := p.Image(t)
	lo, hi := img.Segments.Bounds()
	m := &target.Module{Name: "program", Image: img, Range: target.Range{Lo: lo, Hi: hi}}
	s := synth.Stack(img.Arch)
	for _, w := range words {
		s.Word(w)
	}
	return m, synth.Capture(img.Arch, []*target.Module{m}, s.Place(0x7fff_0000))
}

// nodes walks a tree: f calls itself for a child, at 400064, or what one of two cases has put in x2, at
// 400024, one bit of the return address away. The case of f itself replaces x20, which holds what f was
// passed.
const nodes = `
	400000 <f>:
	400100 <g>:
	400180 <k>:
		400000: a9be7bf4  stp  x20,x30,[sp,#-32]!
		400004: aa0003f4  mov  x20,x0
		400008: 34000081  cbz  w1,400018
		40000c: 37180101  tbnz w1,#3,40002c
		400010: 10000782  adr  x2,400100
		400014: 14000003  b    400020
		400018: f9400a94  ldr  x20,[x20,#16]
		40001c: 10ffff22  adr  x2,400000
		400020: aa1403e0  mov  x0,x20
		400024: d63f0040  blr  x2
		400028: 14000010  b    400068
		40002c: 1400000d  b    400060
		400060: f9400680  ldr  x0,[x20,#8]
		400064: 97ffffe7  bl   400000
		400068: a8c27bf4  ldp  x20,x30,[sp],#32
		40006c: d65f03c0  ret
		400100: a9bf7bfd  stp  x29,x30,[sp,#-16]!
		400104: 9400001f  bl   400180
		400108: a8c17bfd  ldp  x29,x30,[sp],#16
		40010c: d65f03c0  ret
		400180: d65f03c0  ret`

// TestMayCall: the call through a register goes to f and g, and not to k.
func TestMayCall(t *testing.T) {
	_, snap := placed(t, codetest.Program{CPU: "aarch64", Listing: nodes})
	for pc, want := range map[uint64]stackwalk.Answer{0x400010: stackwalk.Yes, 0x400108: stackwalk.Yes, 0x400180: stackwalk.No} {
		if got := New(nil).MayCall(snap, 0x400024, 0, pc); got != want {
			t.Errorf("%#x: %d, want %d", pc, got, want)
		}
	}
	for _, site := range []uint64{0x400064, 0x400010, 0x1000} {
		if got := New(nil).MayCall(snap, site, 0, 0x400010); got != stackwalk.Unknown {
			t.Errorf("no call through a register at %#x: %d", site, got)
		}
	}
}

// TestMayCallImport: a call through the GOT goes to the function of the import's name, whichever way the word was
// bound; to nobody knows where if no library has the name, or the dynamic linker binds nothing there.
func TestMayCallImport(t *testing.T) {
	s, snap := linked(t)
	app := codetest.Program{CPU: "mips o32 big", Imports: map[uint64]string{0x41_0010: "f", 0x41_0014: "none"},
		Data: map[uint64][]uint64{0x41_0010: {0, 0, 0}}, Listing: `
	400000 <caller>:
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: 3c020041  lui   v0,0x41
		40000c: 8c590010  lw    t9,16(v0)
		400010: 0320f809  jalr  t9
		400014: 00000000  nop
		400018: 3c020041  lui   v0,0x41
		40001c: 8c590014  lw    t9,20(v0)
		400020: 0320f809  jalr  t9
		400024: 00000000  nop
		400028: 3c020041  lui   v0,0x41
		40002c: 8c590018  lw    t9,24(v0)
		400030: 0320f809  jalr  t9
		400034: 8fbf0014  lw    ra,20(sp)
		400038: 03e00008  jr    ra
		40003c: 27bd0018  addiu sp,sp,24`}.Image(t)
	snap.Modules[0].Image = app
	if to, _, ok := s.Callee(snap, 0x400010, 0); !ok || to != lib {
		t.Errorf("the word was captured: %#x, %t", to, ok)
	}
	snap.Memory = new(target.Builder).Memory(snap.Arch)
	for _, tt := range []struct {
		site, pc uint64
		want     stackwalk.Answer
	}{
		{0x400010, lib, stackwalk.Yes}, {0x400010, lib + 0x10, stackwalk.YesByJump}, {0x400010, lib + 0x20, stackwalk.No}, {0x400010, 0x400038, stackwalk.No},
		{0x400020, lib, stackwalk.Unknown}, {0x400020, 0x400038, stackwalk.Unknown}, {0x400030, lib, stackwalk.Unknown},
	} {
		if got := s.MayCall(snap, tt.site, 0, tt.pc); got != tt.want {
			t.Errorf("the call at %#x, %#x: %d, want %d", tt.site, tt.pc, got, tt.want)
		}
	}
}

// TestBinds: what the PLT pushed is the number of the import of one stub.
func TestBinds(t *testing.T) {
	const cfa = 0x7fff_0000 + 3*8
	_, snap := placed(t, codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x403000: {0, 0, 0, 0x400016, 0x400026}}, Listing: `
		400000: ff 35 02 30 00 00  push 0x403008
		400006: ff 25 04 30 00 00  jmp  *0x403010
		40000c: 0f 1f 40 00        nop
		400010: ff 25 02 30 00 00  jmp  *0x403018
		400016: 68 00 00 00 00     push $0
		40001b: e9 e0 ff ff ff     jmp  400000
		400020: ff 25 fa 2f 00 00  jmp  *0x403020
		400026: 68 01 00 00 00     push $1
		40002b: e9 d0 ff ff ff     jmp  400000`}, 0x7f00_0000, 1, 0x400500)
	for entry, want := range map[uint64]bool{0x400010: false, 0x400020: true, 0x400000: false} {
		if got := New(nil).Binds(snap, entry, 0, cfa); got != want {
			t.Errorf("x86-64, stub at %#x: %t, want %t", entry, got, want)
		}
	}
	if New(nil).Binds(snap, 0x400020, 0, cfa+8) {
		t.Error("x86-64: a word elsewhere is the number")
	}
	arm64 := codetest.Program{CPU: "aarch64", Data: map[uint64][]uint64{0x402000: {0, 0}}, Listing: `
		400020: d0000010  adrp x16,402000
		400024: f9400211  ldr  x17,[x16]
		400028: 91000210  add  x16,x16,#0
		40002c: d61f0220  br   x17
		400030: d0000010  adrp x16,402000
		400034: f9400611  ldr  x17,[x16,#8]
		400038: 91002210  add  x16,x16,#8
		40003c: d61f0220  br   x17`}
	_, snap = placed(t, arm64, 0x402008, 0x400500)
	for entry, want := range map[uint64]bool{0x400020: false, 0x400030: true} {
		if got := New(nil).Binds(snap, entry, 0, 0x7fff_0010); got != want {
			t.Errorf("AArch64, stub at %#x: %t, want %t", entry, got, want)
		}
	}
}

// TestKeepsReturnAt: f has its return address 8 bytes above SP in its first half, and 24 in the
// second; what g jumps to is not known.
func TestKeepsReturnAt(t *testing.T) {
	_, snap := placed(t, codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
		400000: 50              push %rax
		400001: e8 3a 00 00 00  call 400040
		400006: 48 83 ec 10     sub  $16,%rsp
		40000a: e8 31 00 00 00  call 400040
		40000f: 48 83 c4 18     add  $24,%rsp
		400013: c3              ret
	400020 <g>:
		400020: ff e0           jmp  *%rax
	400030 <h>:
		400030: eb ce           jmp  400000
	400040 <leaf>:
		400040: c3              ret`})
	w := New(nil)
	for _, tt := range []struct {
		entry uint64
		off   int64
		want  bool
	}{
		{0x400000, 8, true}, {0x400000, 24, true}, {0x400000, 16, false}, {0x400000, -8, false},
		{0x400020, 16, true},                        // nobody knows
		{0x400030, 24, true}, {0x400030, 16, false}, // by way of f
		{0x500000, 16, true}, // outside all modules
	} {
		if got := w.KeepsReturnAt(snap, cpu.CallSite{Direct: true, Target: tt.entry}, 0, tt.off); got != tt.want {
			t.Errorf("%#x, %d above SP: %t, want %t", tt.entry, tt.off, got, tt.want)
		}
	}
}

// TestKeepsReturnAtOfImport: the functions that the libraries export under the import's name.
func TestKeepsReturnAtOfImport(t *testing.T) {
	s, snap := linked(t)
	for _, tt := range []struct {
		entry uint64
		off   int64
		want  bool
	}{{0x400020, 20, true}, {0x400020, 16, false}, {0x400000, 20, false}} {
		if got := s.KeepsReturnAt(snap, cpu.CallSite{Direct: true, Target: tt.entry}, 0, tt.off); got != tt.want {
			t.Errorf("%#x, %d above SP: %t, want %t", tt.entry, tt.off, got, tt.want)
		}
	}
}

// TestKeepsReturnAtByRegister: calls through registers to f, whose return address is 8 bytes above SP, on all ways, on
// one way of two, and to wherever a word of memory says.
func TestKeepsReturnAtByRegister(t *testing.T) {
	_, snap := placed(t, codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
		400000: 50                    push %rax
		400001: e8 ea 00 00 00        call 4000f0
		400006: 58                    pop  %rax
		400007: c3                    ret
	400020 <g>:
		400020: 50                    push %rax
		400021: 48 8d 05 d8 ff ff ff  lea  -0x28(%rip),%rax  # f
		400028: ff d0                 call *%rax
		40002a: 58                    pop  %rax
		40002b: c3                    ret
	400040 <h>:
		400040: 50                    push %rax
		400041: 48 8d 05 b8 ff ff ff  lea  -0x48(%rip),%rax  # f
		400048: 85 ff                 test %edi,%edi
		40004a: 74 03                 je   40004f
		40004c: 48 89 f0              mov  %rsi,%rax
		40004f: ff d0                 call *%rax
		400051: 58                    pop  %rax
		400052: c3                    ret
	400060 <k>:
		400060: 50                    push %rax
		400061: ff 56 08              call *8(%rsi)
		400064: 58                    pop  %rax
		400065: c3                    ret
	4000f0 <leaf>:
		4000f0: c3                    ret`})
	for _, tt := range []struct {
		site uint64
		off  int64
		want bool
	}{{0x400028, 8, true}, {0x400028, 16, false}, {0x40004f, 16, true}, {0x400061, 16, true}} {
		if got := New(nil).KeepsReturnAt(snap, cpu.CallSite{Addr: tt.site}, 0, tt.off); got != tt.want {
			t.Errorf("call at %#x, %d above SP: %t, want %t", tt.site, tt.off, got, tt.want)
		}
	}
}

// TestStartHandsOn: main is what the program's start hands on, up to the call in main that never
// returns; or what the start passed on the stack.
func TestStartHandsOn(t *testing.T) {
	m, _ := placed(t, codetest.Program{CPU: "x86_64", Entry: 0x400000, Listing: `
		400000: 48 8d 3d 19 00 00 00  lea  0x19(%rip),%rdi
		400007: ff 15 f0 1f 00 00     call *0x1ff0(%rip)
		40000d: f4                    hlt
		400020: 50                    push %rax
		400021: e8 0a 00 00 00        call 400030
		400030: f4                    hlt
		400040: f4                    hlt`})
	w := New(nil)
	for _, tt := range []struct {
		start, passed, pc uint64
		want              bool
	}{
		{0x400007, 0, 0x400021, true}, {0x400007, 0, 0x400007, false}, {0x400021, 0, 0x400021, false},
		{0x400007, 0, 0x400040, false}, {0x400007, 0x400040, 0x400040, true}, {0x400007, 0x400020, 0x400040, false},
		{0x400007, 0x500040, 0x400040, false}, {0x400021, 0x400040, 0x400040, false},
	} {
		if got := w.StartHandsOn(m, tt.start, tt.passed, tt.pc, 0); got != tt.want {
			t.Errorf("from %#x, which passes %#x, to %#x: %t, want %t", tt.start, tt.passed, tt.pc, got, tt.want)
		}
	}
	if w.StartHandsOn(nil, 0, 0, 0, 0) {
		t.Error("no module has a start")
	}
}
