package typeset_test

import (
	"encoding/hex"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/typeset"
)

// TestEffect reads like a disassembly, with the effect in place of the mnemonic.
func TestEffect(t *testing.T) {
	for _, c := range []struct {
		archs            []*cpu.Arch
		arch             string
		big              bool
		mode             cpu.Mode
		code, insn, want string
	}{
		{mips.Archs(), "mips", true, 0, "27bdffe0", "addiu sp,sp,-32", "sp = sp - 32"},
		{mips.Archs(), "mips", true, 0, "afbf001c", "sw ra,28(sp)", "[sp+28] = ra"},
		{mips.Archs(), "mips", true, 0, "3c1c0043", "lui gp,0x43", "gp = 0x430000"},
		{mips.Archs(), "mips", true, 0, "0c100400", "jal 0x401000", "call 0x401000, after the next"},
		{mips.Archs(), "mips", true, 0, "0320f809", "jalr t9", "call t9, after the next"},
		{mips.Archs(), "mips", true, 0, "1440000f", "bnez v0,.+64", "if: goto 0x400040, after the next"},
		{mips.Archs(), "mips", true, 0, "03e00008", "jr ra", "return ra, after the next"},
		{mips.Archs(), "mips", true, 0, "00000000", "nop", "nop"},
		{x86.Archs(), "x86_64", false, 0, "55", "push rbp", "[rsp-8] = rbp; rsp = rsp - 8"},
		{x86.Archs(), "x86_64", false, 0, "4889e5", "mov rbp,rsp", "rbp = rsp"},
		{x86.Archs(), "x86_64", false, 0, "4883e4f0", "and rsp,-16", "rsp = rsp & -16"},
		{x86.Archs(), "x86_64", false, 0, "c9", "leave", "rsp = rbp; rbp = [rsp]; rsp = rsp + 8"},
		{x86.Archs(), "x86_64", false, 0, "c3", "ret", "return [rsp]"},
		{x86.Archs(), "x86_64", false, 0, "ff5008", "call [rax+8]", "call [rax+8]"},
		{x86.Archs(), "x86_64", false, 0, "0f0b", "ud2", "trap"},
		{arm64.Archs(), "aarch64", false, 0, "fd7bbea9", "stp x29,x30,[sp,#-32]!", "[sp-32] = x29, x30; sp = sp - 32"},
		{arm64.Archs(), "aarch64", false, 0, "c0035fd6", "ret", "return x30"},
		{arm.Archs(), "arm", false, 1, "80b5", "push {r7, lr}", "[sp-8] = {r7 lr}; sp = sp - 8"},
		{arm.Archs(), "arm", false, 1, "80bd", "pop {r7, pc}", "{r7 pc} = [sp]; sp = sp + 8"},
	} {
		arch, ok := cpu.Set(c.archs).ByName(c.arch, "", c.big)
		if !ok {
			t.Fatal(c.arch)
		}
		code, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		var insn [1]cpu.Insn
		if arch.Decoder.Decode(code, 0x400000, c.mode, insn[:]) != 1 {
			t.Errorf("%s: not decoded", c.insn)
			continue
		}
		if got := typeset.Effect(arch, &insn[0], 0); got != c.want {
			t.Errorf("%s: %q, want %q", c.insn, got, c.want)
		}
	}
}
