package disassemble

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// The forms below name operands by letters, as the field names of MIPS32 and MIPS64
// Architecture for Programmers, volume II-A, do: d rd, s rs, t rt, a sa, i signed and u
// unsigned immediate, o offset(base), b branch target, j jump target, D, S, T registers of
// floating point. A form that begins with "=" is written as it is.

// mipsOpcodes are the instructions that their opcode alone tells.
var mipsOpcodes = [64]string{
	0x02: "j j", 0x03: "jal j", 0x04: "beq s,t,b", 0x05: "bne s,t,b", 0x06: "blez s,b", 0x07: "bgtz s,b",
	0x08: "addi t,s,i", 0x09: "addiu t,s,i", 0x0a: "slti t,s,i", 0x0b: "sltiu t,s,i", 0x0c: "andi t,s,u", 0x0d: "ori t,s,u", 0x0e: "xori t,s,u", 0x0f: "lui t,u",
	0x14: "beql s,t,b", 0x15: "bnel s,t,b", 0x16: "blezl s,b", 0x17: "bgtzl s,b", 0x18: "daddi t,s,i", 0x19: "daddiu t,s,i",
	0x1a: "ldl t,o", 0x1b: "ldr t,o", 0x20: "lb t,o", 0x21: "lh t,o", 0x22: "lwl t,o", 0x23: "lw t,o", 0x24: "lbu t,o", 0x25: "lhu t,o", 0x26: "lwr t,o", 0x27: "lwu t,o",
	0x28: "sb t,o", 0x29: "sh t,o", 0x2a: "swl t,o", 0x2b: "sw t,o", 0x2c: "sdl t,o", 0x2d: "sdr t,o", 0x2e: "swr t,o",
	0x30: "ll t,o", 0x31: "lwc1 T,o", 0x34: "lld t,o", 0x35: "ldc1 T,o", 0x37: "ld t,o", 0x38: "sc t,o", 0x39: "swc1 T,o", 0x3c: "scd t,o", 0x3d: "sdc1 T,o", 0x3f: "sd t,o",
}

// mipsSpecial are those of opcode SPECIAL, by the function field.
var mipsSpecial = [64]string{
	0x00: "sll d,t,a", 0x02: "srl d,t,a", 0x03: "sra d,t,a", 0x04: "sllv d,t,s", 0x06: "srlv d,t,s", 0x07: "srav d,t,s",
	0x08: "jr s", 0x09: "jalr d,s", 0x0a: "movz d,s,t", 0x0b: "movn d,s,t", 0x0c: "=syscall", 0x0d: "=break", 0x0f: "=sync",
	0x10: "mfhi d", 0x11: "mthi s", 0x12: "mflo d", 0x13: "mtlo s", 0x14: "dsllv d,t,s", 0x16: "dsrlv d,t,s", 0x17: "dsrav d,t,s",
	0x18: "mult s,t", 0x19: "multu s,t", 0x1a: "div s,t", 0x1b: "divu s,t", 0x1c: "dmult s,t", 0x1d: "dmultu s,t", 0x1e: "ddiv s,t", 0x1f: "ddivu s,t",
	0x20: "add d,s,t", 0x21: "addu d,s,t", 0x22: "sub d,s,t", 0x23: "subu d,s,t", 0x24: "and d,s,t", 0x25: "or d,s,t", 0x26: "xor d,s,t", 0x27: "nor d,s,t",
	0x2a: "slt d,s,t", 0x2b: "sltu d,s,t", 0x2c: "dadd d,s,t", 0x2d: "daddu d,s,t", 0x2e: "dsub d,s,t", 0x2f: "dsubu d,s,t", 0x34: "teq s,t", 0x36: "tne s,t",
	0x38: "dsll d,t,a", 0x3a: "dsrl d,t,a", 0x3b: "dsra d,t,a", 0x3c: "dsll32 d,t,a", 0x3e: "dsrl32 d,t,a", 0x3f: "dsra32 d,t,a",
}

// mipsRotates and mipsRotatesBy are the shifts of SPECIAL that release 2 made rotate, where the
// lowest bit of rs, or of sa, is set.
var (
	mipsRotates   = [64]string{0x02: "ror d,t,a", 0x3a: "dror d,t,a", 0x3e: "dror32 d,t,a"}
	mipsRotatesBy = [64]string{0x06: "rorv d,t,s", 0x16: "drorv d,t,s"}
)

// mipsRegimm are those of opcode REGIMM, by the field of rt.
var mipsRegimm = [32]string{
	0x00: "bltz s,b", 0x01: "bgez s,b", 0x02: "bltzl s,b", 0x03: "bgezl s,b", 0x10: "bltzal s,b", 0x11: "bgezal s,b", 0x1f: "synci i(s)",
}

// mipsText is one instruction; "" where it is in none of the tables.
func mipsText(arch *cpu.Arch, word uint32, pc uint64) string {
	form, ok := "", false
	if isRelease6(arch) {
		form, ok = release6Form(word)
	}
	if !ok {
		form = mipsForm(word)
	}
	switch {
	case form == "":
		return ""
	case form[0] == '=':
		return form[1:]
	case word&0xfc1f07ff == 0x00000025 || word&0xfc1f07ff == 0x00000021 || word&0xfc1f07ff == 0x0000002d:
		form = "move d,s" // or, addu, daddu with zero
	case word>>16 == 0x1000:
		form = "b b" // beq zero,zero
	case word>>16 == 0x0411:
		form = "bal b" // bgezal zero
	case word>>21 == 0x120:
		form = "li t,i" // addiu from zero
	}
	name, operands, _ := strings.Cut(form, " ")
	m := mipsWord{arch, word, pc}
	var b strings.Builder
	b.WriteString(name + " ")
	for _, c := range operands {
		b.WriteString(m.operand(c))
	}
	return b.String()
}

// mipsForm is the form of a word before release 6.
func mipsForm(word uint32) string {
	switch op := word >> 26; {
	case word == 0:
		return "=nop"
	case op == 0 && word>>21&31 == 1 && mipsRotates[word&63] != "": // by sa: rs is a bit R
		return mipsRotates[word&63]
	case op == 0 && word>>6&31 == 1 && mipsRotatesBy[word&63] != "": // by rs: sa is
		return mipsRotatesBy[word&63]
	case op == 0 && mipsSpecial[word&63] != "":
		return mipsSpecial[word&63]
	case op == 1:
		return mipsRegimm[word>>16&31]
	case op == 0x1c && word&63 == 2:
		return "mul d,s,t"
	case op == 0x1f && word&63 == 0x3b:
		return "rdhwr t,$" + fmt.Sprint(word>>11&31)
	case mipsOpcodes[op] != "":
		return mipsOpcodes[op]
	}
	form, _ := formOf(mipsMasked[:], word)
	form = strings.Replace(form, ".F", [2]string{".s", ".d"}[word>>21&1], 1)
	return strings.Replace(form, ".C", "."+mipsComparisons[word&15], 1)
}

// mipsWord is an instruction word at an address.
type mipsWord struct {
	arch *cpu.Arch
	word uint32
	pc   uint64
}

func (m mipsWord) reg(shift uint) string { return m.arch.RegName(cpu.Reg(m.word >> shift & 31)) }

// place is the address that the lowest bits of the word, signed and shifted, lead to from base.
func (m mipsWord) place(base uint64, bits, shift uint) string {
	distance := int64(m.word) << (64 - bits) >> (64 - bits)
	return fmt.Sprintf("%#x", (base+uint64(distance<<shift))&m.arch.AddrMask())
}

// operand writes the operand that a letter of a form stands for; other characters stand
// for themselves.
func (m mipsWord) operand(c rune) string {
	imm := int64(int16(m.word))
	switch c {
	case 'd':
		return m.reg(11)
	case 's':
		return m.reg(21)
	case 't':
		return m.reg(16)
	case 'T':
		return fmt.Sprintf("$f%d", m.word>>16&31)
	case 'a':
		return fmt.Sprint(m.word >> 6 & 31)
	case 'i':
		return fmt.Sprint(imm)
	case 'u':
		return fmt.Sprintf("%#x", uint16(m.word))
	case 'o':
		return fmt.Sprintf("%d(%s)", imm, m.reg(21))
	case 'b':
		return m.place(m.pc+4, 16, 2)
	case 'j':
		return fmt.Sprintf("%#x", (m.pc+4)&^0xfffffff|uint64(m.word&0x3ffffff)<<2)
	}
	return m.operandMasked(c)
}
