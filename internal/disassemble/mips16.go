package disassemble

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// Forms of MIPS16e (MIPS32 Architecture for Programmers, volume IV-a, MD00076, §4) have fields in
// braces: x, y, z one of eight registers; u an unsigned, i a signed number of 8 bits, f one
// of five, each with how far it is shifted in front; s a shift, b a branch's target.

// mips16Forms are the instructions that bits 15 to 11 tell.
var mips16Forms = [32]string{
	0x00: "addiu {x},sp,{2u}", 0x01: "addiu {x},pc,{2u}", 0x02: "b {b}", 0x04: "beqz {x},{b}", 0x05: "bnez {x},{b}", 0x07: "ld {y},{3f}({x})",
	0x09: "addiu {x},{0i}", 0x0a: "slti {x},{0u}", 0x0b: "sltiu {x},{0u}", 0x0d: "li {x},{0u}", 0x0e: "cmpi {x},{0u}", 0x0f: "sd {y},{3f}({x})",
	0x10: "lb {y},{0f}({x})", 0x11: "lh {y},{1f}({x})", 0x12: "lw {x},{2u}(sp)", 0x13: "lw {y},{2f}({x})", 0x14: "lbu {y},{0f}({x})", 0x15: "lhu {y},{1f}({x})",
	0x16: "lw {x},{2u}(pc)", 0x17: "lwu {y},{2f}({x})", 0x18: "sb {y},{0f}({x})", 0x19: "sh {y},{1f}({x})", 0x1a: "sw {x},{2u}(sp)", 0x1b: "sw {y},{2f}({x})",
}

// mips16Registers are those of RR, by bits 4 to 0.
var mips16Registers = [32]string{
	0x02: "slt {x},{y}", 0x03: "sltu {x},{y}", 0x04: "sllv {y},{x}", 0x05: "break", 0x06: "srlv {y},{x}", 0x07: "srav {y},{x}",
	0x0a: "cmp {x},{y}", 0x0b: "neg {x},{y}", 0x0c: "and {x},{y}", 0x0d: "or {x},{y}", 0x0e: "xor {x},{y}", 0x0f: "not {x},{y}",
	0x10: "mfhi {x}", 0x12: "mflo {x}", 0x14: "dsllv {y},{x}", 0x16: "dsrlv {y},{x}", 0x17: "dsrav {y},{x}",
	0x18: "mult {x},{y}", 0x19: "multu {x},{y}", 0x1a: "div zero,{x},{y}", 0x1b: "divu zero,{x},{y}",
	0x1c: "dmult {x},{y}", 0x1d: "dmultu {x},{y}", 0x1e: "ddiv zero,{x},{y}", 0x1f: "ddivu zero,{x},{y}",
}

// The rest: I8 by bits 10 to 8, RR's jumps and conversions by 7 to 5, RRR and shifts by 1 to 0.
var (
	mips16I8          = [8]string{0: "bteqz {b}", 1: "btnez {b}", 2: "sw ra,{2u}(sp)", 3: "addiu sp,{3i}"}
	mips16Jumps       = [8]string{"jr {x}", "jr ra", "jalr {x}", "", "jrc {x}", "jrc ra", "jalrc {x}", ""}
	mips16Conversions = [8]string{"zeb {x}", "zeh {x}", "zew {x}", "", "seb {x}", "seh {x}", "sew {x}", ""}
	mips16RRR         = [4]string{"daddu {z},{x},{y}", "addu {z},{x},{y}", "dsubu {z},{x},{y}", "subu {z},{x},{y}"}
	mips16Shifts      = [4]string{"sll {x},{y},{s}", "dsll {x},{y},{s}", "srl {x},{y},{s}", "sra {x},{y},{s}"}
)

// hasMIPS16 tells whether the second instruction set is MIPS16e: microMIPS takes its place, by the
// flags of ELF files, and in release 6.
func hasMIPS16(arch *cpu.Arch) bool {
	const efMicroMIPS = 0x0200_0000 // binutils, elf/mips.h
	return arch.ELF.Flags&efMicroMIPS == 0 && !isRelease6(arch)
}

// mips16Text is one instruction of MIPS16e: of 16 bits, with a prefix, or a call of 32.
func mips16Text(arch *cpu.Arch, code []byte, pc uint64) string {
	order := bin.Order(arch.BigEndian)
	w := mips16Word{arch: arch, word: uint32(order.U16(code)), pc: pc}
	if op := w.word >> 11; op == 0x03 || op == 0x1e { // jal, extend
		if len(code) < 4 {
			return ""
		}
		second := uint32(order.U16(code[2:]))
		if op == 0x03 {
			target := (w.word&31<<21 | w.word>>5&31<<16 | second) << 2
			return fmt.Sprintf("%s %#x", [2]string{"jal", "jalx"}[w.word>>10&1], (pc+4)&^0xfffffff|uint64(target))
		}
		w.prefix, w.extended, w.word = w.word&0x7ff, true, second
	}
	return filled(w.form(), w.field)
}

// mips16Word is an instruction of 16 bits, and the 11 bits of its prefix.
type mips16Word struct {
	arch         *cpu.Arch
	word, prefix uint32
	extended     bool
	pc           uint64
}

func (w mips16Word) form() string {
	v := w.word
	switch op := v >> 11; {
	case v == 0x6500:
		return "nop" // move $0,$16
	case op == 0x06:
		return mips16Shifts[v&3]
	case op == 0x08:
		return [2]string{"addiu {y},{x},{a}", "daddiu {y},{x},{a}"}[v>>4&1]
	case op == 0x0c && v>>8&7 == 4:
		return w.saveRestore()
	case op == 0x0c && v>>8&7 == 5: // the number's parts stand the other way round
		return "move " + w.arch.RegName(cpu.Reg(v>>5&7|v&0x18)) + "," + w.reg(v)
	case op == 0x0c && v>>8&7 == 7:
		return "move " + w.reg(v>>5) + "," + w.arch.RegName(cpu.Reg(v&31))
	case op == 0x0c:
		return mips16I8[v>>8&7]
	case op == 0x1c:
		return mips16RRR[v&3]
	case op == 0x1d && v&31 == 0:
		return mips16Jumps[v>>5&7]
	case op == 0x1d && v&31 == 0x11:
		return mips16Conversions[v>>5&7]
	case op == 0x1d:
		return mips16Registers[v&31]
	default:
		return mips16Forms[op]
	}
}

// reg is one of the eight registers that three bits name.
func (w mips16Word) reg(n uint32) string {
	return w.arch.RegName([8]cpu.Reg{16, 17, 2, 3, 4, 5, 6, 7}[n&7])
}

func (w mips16Word) field(name string) string {
	v := w.word
	switch name {
	case "x":
		return w.reg(v >> 8)
	case "y":
		return w.reg(v >> 5)
	case "z":
		return w.reg(v >> 2)
	case "a": // addiu of two registers has 4 bits, or 15
		if w.extended {
			return fmt.Sprint(int32(w.prefix&15<<11|w.prefix&0x7f0|v&15) << 17 >> 17)
		}
		return fmt.Sprint(int32(v) << 28 >> 28)
	case "s":
		if w.extended {
			return fmt.Sprint(w.prefix >> 6 & 31)
		}
		return fmt.Sprint((v>>2-1)&7 + 1) // 0 is 8
	case "b":
		return w.target()
	}
	return w.number(uint(name[0]-'0'), name[1])
}

// number is an operand in the low bits: with a prefix of 16 bits, signed but for li and cmpi,
// and not shifted.
func (w mips16Word) number(shift uint, kind byte) string {
	v := w.word
	switch op := v >> 11; {
	case w.extended && (op == 0x0d || op == 0x0e):
		return fmt.Sprint(uint16(w.immediate()))
	case w.extended:
		return fmt.Sprint(w.immediate())
	case kind == 'i':
		return fmt.Sprint(int32(int8(v)) << shift)
	case kind == 'f':
		return fmt.Sprint(v & 31 << shift)
	}
	return fmt.Sprint(v & 0xff << shift)
}

// immediate are the 16 bits of an instruction with a prefix.
func (w mips16Word) immediate() int16 {
	return int16(w.prefix&31<<11 | w.prefix&0x7e0 | w.word&31)
}

func (w mips16Word) target() string {
	base, distance := w.pc+2, int64(int8(w.word))
	switch {
	case w.extended:
		base, distance = w.pc+4, int64(w.immediate())
	case w.word>>11 == 0x02:
		distance = int64(int32(w.word) << 21 >> 21)
	}
	return fmt.Sprintf("%#x", (base+uint64(distance<<1))&w.arch.AddrMask())
}

// saveRestore is a prologue or an epilogue in one instruction: arguments that are stored, the
// frame's size in bytes, registers saved.
func (w mips16Word) saveRestore() string {
	v := w.word
	size := v & 15 << 3
	var before, behind []string
	if v>>6&1 != 0 {
		behind = append(behind, "ra")
	}
	saved := w.prefix >> 8 & 7 // s2 and up
	for i, bit := range [2]uint32{v >> 5 & 1, v >> 4 & 1} {
		if bit != 0 {
			behind = append(behind, fmt.Sprintf("s%d", i))
		}
	}
	for i := range saved {
		behind = append(behind, fmt.Sprintf("s%d", i+2))
	}
	switch {
	case w.extended:
		size |= w.prefix & 0xf0 << 3
		arguments, static := w.prefix>>2&3, w.prefix&3
		switch w.prefix & 15 {
		case 11:
			arguments, static = 0, 4
		case 14:
			arguments, static = 4, 0
		}
		for i := range arguments {
			before = append(before, fmt.Sprintf("a%d", i))
		}
		for i := range static {
			behind = append(behind, fmt.Sprintf("a%d", 4-static+i))
		}
	case size == 0:
		size = 128
	}
	all := append(append(before, fmt.Sprint(size)), behind...)
	return [2]string{"restore ", "save "}[v>>7&1] + strings.Join(all, ",")
}
