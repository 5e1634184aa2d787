package dataflow

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// ways are the ways out of a place: SP and the return address where the way leaves, in the
// terms of the place, and the preserved registers that have changed.
//
//	sp+16 [sp+8] rbx=[sp+0]    the return address is in a slot, and so is the caller's rbx
//	sp+0 ra, tail              a jump to another function, with RA where it was
//	sp+8 [sp+0], 2 calls       the way falls through two calls
func ways(an *Analysis, paths []ReturnPath) (out []string) {
	for _, p := range paths {
		s := text(an.Arch, p.CFA) + " " + text(an.Arch, p.RA)
		for _, c := range p.Changed {
			s += fmt.Sprintf(" %s=%s", an.Arch.RegName(c.Reg), text(an.Arch, c.Val))
		}
		if p.Calls > 0 {
			s += fmt.Sprintf(", %d calls", p.Calls)
		}
		if p.Tail {
			s += ", tail"
		}
		out = append(out, s)
	}
	return out
}

func text(a *cpu.Arch, v absint.Value) string {
	switch {
	case v.Kind == absint.StartRelative && v.OfRegister() && v.Off == 0 && cpu.Reg(v.Base) != a.SP:
		return a.RegName(cpu.Reg(v.Base))
	case v.Kind == absint.StartRelative && v.OfRegister():
		return fmt.Sprintf("%s%+d", a.RegName(cpu.Reg(v.Base)), v.Off)
	case v.Kind == absint.StartMemory && v.OfRegister():
		return fmt.Sprintf("[%s%+d]", a.RegName(cpu.Reg(v.Base)), v.Off)
	}
	return "?"
}

// TestReturnPaths: what code will do to go back to the caller.
func TestReturnPaths(t *testing.T) {
	for _, tt := range []struct {
		name, cpu, listing string
		afterCall          bool
		want               string
	}{
		{"an epilogue", "x86_64", "1000: 5b c3  pop %rbx; ret", false, "[rsp+16 [rsp+8] rbx=[rsp+0]]"},
		{"a frame pointer", "x86_64", "1000: c9 c3  leave; ret", false, "[rbp+16 [rbp+8] rbp=[rbp+0]]"},
		{"nothing is left to undo", "mips o32 big", "1000: 03e00008 00000000  jr ra; nop", false, "[sp+0 ra]"},
		{"RA was overwritten by the call", "mips o32 big", "1000: 03e00008 00000000  jr ra; nop", true, "[]"},
		{"RA out of the frame", "mips o32 big", "1000: 8fbf0014 03e00008 27bd0018  lw ra,20(sp); jr ra; addiu sp,sp,24", true, "[sp+24 [sp+20]]"},
		{"RA off the shadow call stack", "riscv64", "1000: ff81b083 11e1 8082  ld ra,-8(gp); addi gp,gp,-8; ret", false, "[sp+0 [gp-8]]"},
		{"RA off AArch64's shadow call stack", "aarch64", "1000: f85f8e5e d65f03c0  ldr x30,[x18,#-8]!; ret", false, "[sp+0 [x18-8]]"},
		{"a jump through a global", "riscv64", "1000: ff81b303 8302  ld t1,-8(gp); jr t1", false, "[]"},
		{"both ways of a branch", "x86_64", "1000: 74 02 5b c3 58 c3  je 1004; pop %rbx; ret; pop %rax; ret", false,
			"[rsp+16 [rsp+8] rbx=[rsp+0] rsp+16 [rsp+8]]"},
		{"behind a call", "x86_64", "1000: ff d0 5b c3  call *%rax; pop %rbx; ret", false, "[rsp+16 [rsp+8] rbx=[rsp+0], 1 calls]"},
		{"behind a call that popped an argument", "i386", "ffb: e8 10 00 00 00  call 1010\n1000: 83 c4 0c c3  add $12,%esp; ret\n1010: c2 04 00  ret $4", true, "[esp+20 [esp+16]]"},
		{"an endless loop", "x86_64", "1000: eb fe", false, "[]"},
		{"a frame below SP", "x86_64", "1000: 48 83 ec 40 c3  sub $64,%rsp; ret", false, "[]"},
		{"a tail call through a pointer", "mips o32 big", "1000: 8fbf0014 03200008 27bd0018  lw ra,20(sp); jr t9; addiu sp,sp,24", false, "[sp+24 [sp+20], tail]"},
		{"a tail call", "x86_64", "1010 <g>:\n1000: 5b eb 0d  pop %rbx; jmp 1010\n1010: c3", false, "[rsp+16 [rsp+8] rbx=[rsp+0], tail]"},
		{"a return of MIPS16 through a3", "mips o32 big", "1000: 8fa70014 00e00008 27bd0018  lw a3,20(sp); jr a3; addiu sp,sp,24", false, "[sp+24 [sp+20]]"},
		{"a jump through memory elsewhere", "mips o32 big", "1000: 8c990000 03200008 00000000  lw t9,0(a0); jr t9; nop", false, "[]"},
		{"a conditional return", "arm", "1000: 08bd8010 e8bd8030  popeq {r4,pc}; pop {r4,r5,pc}", false,
			"[sp+8 [sp+4] r4=[sp+0] sp+12 [sp+8] r4=[sp+0] r5=[sp+4]]"},
	} {
		an := analysis(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing})
		if got := fmt.Sprint(ways(an, an.ReturnPaths(at(0x1000), tt.afterCall))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
