package diagnose

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// accessMIPS is the memory operand of a 32-bit MIPS instruction: all loads and stores have
// the opcodes 0x20 to 0x3f, base register and offset at the same place (MIPS32
// Architecture for Programmers, volume II-A, table "opcode field"). Unwinding leaves out
// lwl, swr, sb and floating point. Of the opcodes behind 0x2f those that release 6 made
// branches are no accesses here.
func accessMIPS(code []byte, regs *cpu.Registers, arch *cpu.Arch) (a access, ok bool) {
	if len(code) < 4 {
		return a, false
	}
	word := binary.LittleEndian.Uint32(code)
	if arch.BigEndian {
		word = binary.BigEndian.Uint32(code)
	}
	switch op := word >> 26; {
	case op >= 0x20 && op <= 0x27, op == 0x30, op == 0x31, op == 0x34, op == 0x35, op == 0x37:
		a.how = "read"
	case op >= 0x28 && op <= 0x2e, op == 0x38, op == 0x39, op == 0x3c, op == 0x3d, op == 0x3f:
		a.how = "write"
	default:
		return a, false
	}
	a.base = cpu.Reg(word >> 21 & 31) // general registers have their own numbers
	base, ok := regs.Lookup(a.base)
	a.addr = (base + uint64(int64(int16(word)))) & arch.AddrMask()
	return a, ok
}
