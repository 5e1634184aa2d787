package stepping_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
)

// TestReadsPC: a call to the next instruction reads the PC where the code behind takes the address out of the link register.
// Else it is a call of the function that lies there: in a static program for MIPS, glibc's __assert_fail_base is called so.
func TestReadsPC(t *testing.T) {
	for _, c := range []struct {
		arch, what, code string
		mode             cpu.Mode
		want             bool
	}{
		{"mips o32 big-endian", "bal; nop; lui gp; addiu gp,gp; addu gp,gp,ra", "04110001 00000000 3c1c0008 279cb544 039fe021", 0, true},
		{"mips o32 big-endian", "bal; move t0,ra", "04110001 03e04025", 0, true},
		{"mips o32 big-endian", "bal; nop; lui gp; addiu gp,gp; addu gp,gp,t9; lw a0", "04110001 00000000 3c1c0008 279ce2c0 0399e021 8f8480c0", 0, false},
		{"mips o32 big-endian", "bal; nop; addiu sp,sp,-32; sw ra,28(sp); move s0,ra", "04110001 00000000 27bdffe0 afbf001c 03e08025", 0, false},
		{"mips o32 big-endian", "bal; nop; jr ra", "04110001 00000000 03e00008", 0, false},
		{"mips o32 big-endian", "bal elsewhere; nop; move t0,ra", "04110004 00000000 03e04025", 0, false},
		{"arm little-endian", "bl; add r0,lr,#8", "ffffffeb 08008ee2", 0, true},
		{"arm little-endian", "bl; push {r4,lr}; mov r4,lr", "ffffffeb 10402de9 0e40a0e1", 0, false},
		{"arm little-endian", "bl; mov r0,lr (Thumb)", "fff7feff 7046", 1, false}, // bl .
		{"arm little-endian", "bl; mov r0,lr (Thumb)", "00f000f8 7046", 1, true},
		{"arm little-endian", "bl; push {r4,lr} (Thumb)", "00f000f8 10b5", 1, false},
	} {
		a := archNamed(t, c.arch)
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		var in [1]cpu.Insn
		if n := a.Decoder.Decode(code, 0x1000, c.mode, in[:]); n != 1 || in[0].Op != cpu.OpCall {
			t.Fatalf("%s: no call", c.what)
		}
		named := len(a.Decoder.Calls(code, 0x1000, c.mode, nil)) == 1
		if got := in[0].Flags&cpu.FlagGetPC != 0; got != c.want || named == c.want {
			t.Errorf("%s, %s: reads the PC: %v, want %v; a call of a function: %v", c.arch, c.what, got, c.want, named)
		}
	}
}

// archNamed is the first descriptor with a name.
func archNamed(t *testing.T, name string) *cpu.Arch {
	t.Helper()
	for _, a := range backsight.CPUs() {
		if a.String() == name {
			return a
		}
	}
	t.Fatalf("no CPU %s", name)
	return nil
}
