package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestAbandons: which places lie between the call that writes another frame's registers over the saved
// ones and the jump to that frame. The first call of the MIPS unwinder only looks for a frame.
func TestAbandons(t *testing.T) {
	for _, tt := range []struct {
		name string
		codetest.Program
		behind map[uint64]bool // calls
		exact  map[uint64]bool
	}{
		{name: "an unwinder on MIPS", Program: codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <_Unwind_Resume>:
			400000: 27bdffe0  addiu sp,sp,-32
			400004: afbf001c  sw    ra,28(sp)
			400008: afbe0018  sw    s8,24(sp)
			40000c: 0c140000  jal   500000      finds the frame
			400010: 00000000  nop
			400014: 0c140040  jal   500100      installs its registers
			400018: 00000000  nop
			40001c: 0c140080  jal   500200      tells a debugger
			400020: 00000000  nop
			400024: afa3001c  sw    v1,28(sp)
			400028: 8fbf001c  lw    ra,28(sp)
			40002c: 8fbe0018  lw    s8,24(sp)
			400030: 27bd0020  addiu sp,sp,32
			400034: 03e00008  jr    ra
			400038: 03a2e821  addu  sp,sp,v0`},
			behind: map[uint64]bool{0x400014: false, 0x40001c: true, 0x400024: true},
			exact:  map[uint64]bool{0x400000: false, 0x400014: false, 0x400028: true, 0x400034: true}},
		{name: "an unwinder on x86-64, which jumps", Program: codetest.Program{CPU: "x86_64", Listing: `
		400000 <_Unwind_Resume>:
			400000: 55              push   %rbp
			400001: 48 89 e5        mov    %rsp,%rbp
			400004: 53              push   %rbx
			400005: 52              push   %rdx
			400006: e8 f5 0f 00 00  call   401000
			40000b: 48 89 54 05 08  mov    %rdx,0x8(%rbp,%rax,1)
			400010: 48 8d 4c 05 08  lea    0x8(%rbp,%rax,1),%rcx
			400015: 48 8b 5d f8     mov    -0x8(%rbp),%rbx
			400019: 48 8b 6d 00     mov    (%rbp),%rbp
			40001d: 48 89 cc        mov    %rcx,%rsp
			400020: 59              pop    %rcx
			400021: ff e1           jmp    *%rcx`},
			behind: map[uint64]bool{0x40000b: true},
			exact:  map[uint64]bool{0x400010: true}},
		{name: "an unwinder on AArch64, which jumps with lr restored", Program: codetest.Program{CPU: "aarch64", Listing: `
		400000 <_Unwind_Resume>:
			400000: a9be7bfd  stp x29,x30,[sp,#-32]!
			400004: 910003fd  mov x29,sp
			400008: a90107e0  stp x0,x1,[sp,#16]
			40000c: 94000400  bl  40100c
			400010: aa0003e4  mov x4,x0
			400014: a94107e0  ldp x0,x1,[sp,#16]
			400018: a8c27bfd  ldp x29,x30,[sp],#32
			40001c: 8b2463ff  add sp,sp,x4
			400020: d61f00c0  br  x6`},
			behind: map[uint64]bool{0x400010: true},
			exact:  map[uint64]bool{0x400018: true}},
		{name: "a frame of 64 KB", Program: codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 3c080001  lui   t0,0x1
			400004: 03a8e823  subu  sp,sp,t0
			400008: afbe0000  sw    s8,0(sp)
			40000c: 03a0f025  move  s8,sp
			400010: 0c140000  jal   500000
			400014: afbf0004  sw    ra,4(sp)
			400018: 3c080001  lui   t0,0x1
			40001c: 8fbf0004  lw    ra,4(sp)
			400020: 8fbe0000  lw    s8,0(sp)
			400024: 03a8e821  addu  sp,sp,t0    the constant was loaded in front
			400028: 03e00008  jr    ra
			40002c: 00000000  nop`},
			behind: map[uint64]bool{0x400018: false},
			exact:  map[uint64]bool{0x40001c: false, 0x400024: false}},
		{name: "a switch behind alloca", Program: codetest.Program{CPU: "aarch64", Listing: `
		400000 <f>:
			400000: a9be7bfd  stp x29,x30,[sp,#-32]!
			400004: 910003fd  mov x29,sp
			400008: cb2063ff  sub sp,sp,x0
			40000c: 94000400  bl  40100c
			400010: d61f0040  br  x2`},
			behind: map[uint64]bool{0x400010: false},
			exact:  map[uint64]bool{0x400008: false}},
	} {
		an := analysis(t, tt.Program)
		f := an.Function(at(0x400000))
		for pc, want := range tt.behind {
			if got := an.Abandons(f, at(pc), true); got != want {
				t.Errorf("%s: behind the call before %x: %t", tt.name, pc, got)
			}
		}
		for pc, want := range tt.exact {
			if got := an.Abandons(f, at(pc), false); got != want {
				t.Errorf("%s: at %x: %t", tt.name, pc, got)
			}
		}
	}
}
