package disassemble_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/disassemble"
)

// TestMIPS16: instructions of MIPS16e at 0x10000, as binutils' objdump writes them but for two
// operands that are the same; those of 32 bits have their first halfword above.
func TestMIPS16(t *testing.T) {
	arch := archNamed(t, "mips", "o32", true)
	for _, tt := range []struct {
		word uint32
		want string
	}{
		{0x64f5, "save 40,ra,s0,s1"}, {0x6475, "restore 40,ra,s0,s1"}, {0x64c0, "save 128,ra"}, {0xf31464f6, "save a0,176,ra,s0,s1,s2,s3,s4"},
		{0xb209, "lw v0,36(pc)"}, {0x9a61, "lw v1,4(v0)"}, {0xd204, "sw v0,16(sp)"}, {0x6205, "sw ra,20(sp)"}, {0x63fc, "addiu sp,-32"},
		{0xe209, "addu v0,v0,s0"}, {0x3248, "sll v0,v0,2"}, {0x3240, "sll v0,v0,8"}, {0x6740, "move v0,zero"}, {0x65e2, "move a3,v0"}, {0x6500, "nop"},
		{0xe820, "jr ra"}, {0xeac0, "jalrc v0"}, {0xe8a0, "jrc ra"}, {0x22ff, "beqz v0,0x10000"}, {0x17ff, "b 0x10000"}, {0x6101, "btnez 0x10004"},
		{0x6a80, "li v0,128"}, {0xf7ff6a1f, "li v0,65535"}, {0xf7ff4a1f, "addiu v0,-1"}, {0xf0009a60, "lw v1,0(v0)"}, {0xf0221000, "b 0x12044"}, {0x420f, "addiu s0,v0,-1"},
		{0x1a004000, "jal 0x410000"}, {0x1c004000, "jalx 0x10000"}, {0xea91, "seb v0"},
	} {
		var code []byte
		if tt.word>>16 != 0 {
			code = binary.BigEndian.AppendUint16(code, uint16(tt.word>>16))
		}
		code = binary.BigEndian.AppendUint16(code, uint16(tt.word))
		if got := disassemble.Text(arch, code, 0x10000, 1); got != tt.want {
			t.Errorf("%#x: %q, want %q", tt.word, got, tt.want)
		}
	}
	var micro *cpu.Arch
	for _, a := range backsight.CPUs() {
		if a.Name == "mips" && a.BigEndian && a.ELF.Flags&0x0200_0000 != 0 { // EF_MIPS_ARCH_ASE_MICROMIPS
			micro = a
		}
	}
	if got := disassemble.Text(micro, []byte{0x64, 0xf5}, 0x10000, 1); got != "" {
		t.Errorf("microMIPS: %q", got)
	}
}
