package code

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestReloadedRA: of several slots that hold the return address, the function goes back by
// the one that it reloads, though the call before never returns: libgcc's _Unwind_Resume for
// ARM, whose callee changes the registers that it is given. The other slot is the second answer.
func TestReloadedRA(t *testing.T) {
	img := codetest.Program{CPU: "arm", Listing: `
		1000 <f>:
		1000: e1a0c00d  mov  ip,sp
		1004: e52de004  push {lr}              pc
		1008: e92d5000  push {ip, lr}          sp, lr
		100c: e92d1fff  push {r0-r12}
		1010: e1a0000d  mov  r0,sp
		1014: eb000002  bl   1024
		1018: e59de038  ldr  lr,[sp,#56]
		101c: e28dd040  add  sp,sp,#64
		1020: e12fff1e  bx   lr
		1024 <never returns>:
		1024: eafffffe  b    1024`}.Image(t)
	q := resuming(img, 0x1018, 0)
	got := answers(New(nil), q)
	for i, want := range []string{"CFA=sp+64 RA=[CFA-8]", "CFA=sp+64 RA=[CFA-4]"} {
		if len(got) <= i || !strings.HasPrefix(got[i], want) {
			t.Errorf("answer %d of %q, want %s", i, got, want)
		}
	}
}

// TestKeptSP: what another library's function pops is a guess. Where the caller keeps SP in a register around the call, the CFA follows
// from that register until SP comes from there again: GCC 14 calls functions so that return structures.
func TestKeptSP(t *testing.T) {
	img := codetest.Program{CPU: "i386", Imports: map[uint64]string{0x804c000: "f"}, Listing: `
		1000 <caller>:
		1000: 57              push %edi
		1001: 83 ec 18        sub  $0x18,%esp
		1004: 89 e7           mov  %esp,%edi
		1006: 83 ec 04        sub  $0x4,%esp
		1009: 50              push %eax
		100a: 50              push %eax
		100b: 57              push %edi
		100c: e8 1f 00 00 00  call 1030
		1011: 8b 44 24 0c     mov  0xc(%esp),%eax
		1015: 89 fc           mov  %edi,%esp
		1017: 83 c4 18        add  $0x18,%esp
		101a: 5f              pop  %edi
		101b: c3              ret
		1030: ff 25 00 c0 04 08  jmp *0x804c000`}.Image(t)
	const kept = "CFA=edi+32 RA=[CFA-4] edi=[CFA-8]"
	expect(t, New(nil), img, exact, map[uint64]string{0x1011: kept, 0x1015: kept, 0x1017: "CFA=esp+32 RA=[CFA-4] edi=[CFA-8]"})
}

// TestTableInLoop: what a case does to SP and RA holds in all cases, to which the next round of
// the loop comes. So libgcc interprets call frame information, where DW_CFA_remember_state calls
// alloca.
func TestTableInLoop(t *testing.T) {
	img := codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x400030, 0x40003c}}, Listing: `
	400000 <f>:
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: afbe0010  sw    s8,16(sp)
		40000c: 03a0f025  move  s8,sp
		400010: 2c820002  sltiu v0,a0,2      loop
		400014: 1040000e  beqz  v0,400050
		400018: 00041080  sll   v0,a0,2
		40001c: 3c030041  lui   v1,0x41
		400020: 00621821  addu  v1,v1,v0
		400024: 8c620000  lw    v0,0(v1)
		400028: 00400008  jr    v0
		40002c: 8ca40000  lw    a0,0(a1)
		400030: 27bdffc0  addiu sp,sp,-64    case 0
		400034: 1000fff6  b     400010
		400038: 00000000  nop
		40003c: 0c140000  jal   500000       case 1
		400040: 00000000  nop
		400044: 1000fff2  b     400010
		400048: 00000000  nop
		40004c: 00000000  nop
		400050: 03c0e825  move  sp,s8        default
		400054: 8fbf0014  lw    ra,20(sp)
		400058: 8fbe0010  lw    s8,16(sp)
		40005c: 03e00008  jr    ra
		400060: 27bd0018  addiu sp,sp,24`}.Image(t)
	const want = "CFA=s8+24 RA=[CFA-4] s8=[CFA-8]"
	expect(t, New(nil), img, exact, map[uint64]string{0x400030: want, 0x40003c: want})
}
