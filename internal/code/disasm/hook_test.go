package disasm

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestHooks: the calls of a profiler's hook leave nothing behind; calls that look alike in
// part stay calls.
func TestHooks(t *testing.T) {
	const mips, arm, arm64 = "mips o32 big", "arm", "aarch64"
	for _, tt := range []struct {
		what, cpu, listing string
		at                 int // index of the instruction
		want               cpu.Op
	}{
		{"MIPS: the call", mips, "1000: 03e00825 0c000400 27bdfff8 03e00008 00000000  move at,ra; jal 1000; addiu sp,sp,-8; jr ra; nop", 1, cpu.OpNop},
		{"MIPS: its delay slot", mips, "1000: 03e00825 0c000400 27bdfff8 03e00008 00000000  move at,ra; jal 1000; addiu sp,sp,-8; jr ra; nop", 2, cpu.OpNop},
		{"MIPS: of a module", mips, "1000: 03e00825 0060f809 27bdfff8 03e00008 00000000  move at,ra; jalr v1; addiu sp,sp,-8; jr ra; nop", 1, cpu.OpNop},
		{"MIPS: another call", mips, "1000: 03e00825 0c000400 27bd0008 03e00008 00000000  move at,ra; jal 1000; addiu sp,sp,8; jr ra; nop", 1, cpu.OpCall},
		{"MIPS n64", "mips64 n64 big", "1000: 03e0082d 0c000400 67ac0068 03e00008 00000000  move at,ra; jal 1000; daddiu t4,sp,104; jr ra; nop", 1, cpu.OpMove},
		{"MIPS n64: position-independent", "mips64 n64 big", "1000: 03e0082d df998018 0320f809 00000000 03e00008 00000000  move at,ra; ld t9,-32744(gp); jalr t9; nop; jr ra; nop", 2, cpu.OpMove},
		{"MIPS: of position-independent code", mips, "1000: 03e00825 27bdfff8 8f998018 0320f809 00000000 03e00008  move at,ra; addiu sp,sp,-8; lw t9,-32744(gp); jalr t9; nop; jr ra", 3, cpu.OpAddImm},
		{"MIPS: room for something else", mips, "1000: 03e08025 27bdfff8 8f998018 0320f809 00000000 03e00008  move s0,ra; addiu sp,sp,-8; lw t9,-32744(gp); jalr t9; nop; jr ra", 3, cpu.OpCall},
		{"MIPS n64: another call", "mips64 n64 big", "1000: 03e0102d 0c000400 67ac0068 03e00008 00000000  move v0,ra; jal 1000; daddiu t4,sp,104; jr ra; nop", 1, cpu.OpCall},
		{"ARM", arm, "1000: e52de004 eb000000 e12fff1e e1a0c00e e8bd4000 e12fff1c  push {lr}; bl 100c; bx lr; mov ip,lr; pop {lr}; bx ip", 1, cpu.OpLoad},
		{"ARM: Linux's hook", arm, "1000: e52de004 eb000000 e12fff1e e52de004 e59de004 e49df008  push {lr}; bl 100c; bx lr; push {lr}; ldr lr,[sp,#4]; ldr pc,[sp],#8", 1, cpu.OpLoad},
		{"ARM: Linux's tracer", arm, "1000: e52de004 eb000000 e12fff1e e92d400f e8bd000f e59de004 e49df008  push {lr}; bl 100c; bx lr; push {r0-r3,lr}; pop {r0-r3}; ldr lr,[sp,#4]; ldr pc,[sp],#8", 1, cpu.OpLoad},
		{"ARM: glibc's hook", arm, "1000: e52de004 eb000000 e12fff1e e92d400f e8bd500f e12fff1c  push {lr}; bl 100c; bx lr; push {r0-r3,lr}; pop {r0-r3,ip,lr}; bx ip", 1, cpu.OpLoad},
		{"ARM: a callee that returns from the stack", arm, "1000: e52de004 eb000000 e12fff1e e52de004 e49df008  push {lr}; bl 100c; bx lr; push {lr}; ldr pc,[sp],#8", 1, cpu.OpCall},
		{"AArch64: Linux's tracer", arm64, "1000: aa1e03e9 94000400 a9bf7bfd d65f03c0  mov x9,x30; bl 2004; stp x29,x30,[sp,#-16]!; ret", 1, cpu.OpMove},
		{"AArch64: another copy", arm64, "1000: aa1e03e8 94000400 a9bf7bfd d65f03c0  mov x8,x30; bl 2004; stp x29,x30,[sp,#-16]!; ret", 1, cpu.OpCall},
		{"ARM: another callee", arm, "1000: e52de004 eb000000 e12fff1e e1a0c00e e12fff1c  push {lr}; bl 100c; bx lr; mov ip,lr; bx ip", 1, cpu.OpCall},
		{"ARM: a frame of another size", arm, "1000: e92d4010 eb000000 e12fff1e e1a0c00e e8bd4000 e12fff1c  push {r4,lr}; bl 100c; bx lr; mov ip,lr; pop {lr}; bx ip", 1, cpu.OpCall},
	} {
		c := code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing})
		var buf [8]cpu.Insn
		c.Decode(at(0x1000), buf[:])
		if got := buf[tt.at].Op; got != tt.want {
			t.Errorf("%s: instruction %d is %v, want %v", tt.what, tt.at, got, tt.want)
		}
		var one cpu.Insn // read by itself, without what stands before
		pc := uint64(0x1000)
		for _, in := range buf[:tt.at] {
			pc += uint64(in.Len)
		}
		if c.One(at(pc), &one); one.Op != tt.want {
			t.Errorf("%s: read by itself it is %v, want %v", tt.what, one.Op, tt.want)
		}
	}
}
