package disassemble

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// Release 6 gave opcodes away: MIPS64 Architecture for Programmers, volume II-A (MD00087),
// revision 6, tables A.2 to A.9. Further letters of its forms: p and q distances from PC in
// words and doublewords, n a 9-bit offset(base), c and C branch targets of 21 and 26 bits, z
// the shift of lsa.

// isRelease6 tells release 6 by the flags of its ELF files.
func isRelease6(arch *cpu.Arch) bool {
	const efMIPSArch, r6of32, r6of64 = 0xf000_0000, 0x9000_0000, 0xa000_0000 // binutils, elf/mips.h
	level := arch.ELF.Flags & efMIPSArch
	return arch.ELF.Mask&efMIPSArch == efMIPSArch && (level == r6of32 || level == r6of64)
}

// mipsCompact are the opcodes that the numbers of two registers divide: where rt is 0, where
// rs is 0, where they are the same, else.
var mipsCompact = [64][4]string{
	0x06: {"blez s,b", "blezalc t,b", "bgezalc t,b", "bgeuc s,t,b"},
	0x07: {"bgtz s,b", "bgtzalc t,b", "bltzalc t,b", "bltuc s,t,b"},
	0x08: {"bovc s,t,b", "beqzalc t,b", "bovc s,t,b", "beqc s,t,b"},
	0x16: {"", "blezc t,b", "bgezc t,b", "bgec s,t,b"},
	0x17: {"", "bgtzc t,b", "bltzc t,b", "bltc s,t,b"},
	0x18: {"bnvc s,t,b", "bnezalc t,b", "bnvc s,t,b", "bnec s,t,b"},
	0x36: {"beqzc s,c", "jic t,i", "beqzc s,c", "beqzc s,c"},
	0x3e: {"bnezc s,c", "jialc t,i", "bnezc s,c", "bnezc s,c"},
}

// mipsRelease6 are the other codings that release 6 added, moved or, those without a form, took
// away (bc1f, c.cond); of those that match, the first.
var mipsRelease6 = [...]coding{
	{0xffe0_0000, 0x3c00_0000, "lui t,u"}, {0xfc00_0000, 0x3c00_0000, "aui t,s,u"}, {0xfc00_0000, 0x7400_0000, "daui t,s,u"},
	{0xfc00_0000, 0xc800_0000, "bc C"}, {0xfc00_0000, 0xe800_0000, "balc C"},
	{0xfc18_0000, 0xec00_0000, "addiupc s,p"}, {0xfc18_0000, 0xec08_0000, "lwpc s,p"}, {0xfc18_0000, 0xec10_0000, "lwupc s,p"},
	{0xfc1c_0000, 0xec18_0000, "ldpc s,q"}, {0xfc1f_0000, 0xec1e_0000, "auipc s,u"}, {0xfc1f_0000, 0xec1f_0000, "aluipc s,u"},
	{0xffe0_0000, 0x4500_0000, ""}, {0xffc0_00f0, 0x4600_0030, ""},
	{0xffe0_0000, 0x4520_0000, "bc1eqz T,b"}, {0xffe0_0000, 0x45a0_0000, "bc1nez T,b"},

	{0xfc00_07ff, 0x98, "mul d,s,t"}, {0xfc00_07ff, 0xd8, "muh d,s,t"}, {0xfc00_07ff, 0x99, "mulu d,s,t"}, {0xfc00_07ff, 0xd9, "muhu d,s,t"},
	{0xfc00_07ff, 0x9a, "div d,s,t"}, {0xfc00_07ff, 0xda, "mod d,s,t"}, {0xfc00_07ff, 0x9b, "divu d,s,t"}, {0xfc00_07ff, 0xdb, "modu d,s,t"},
	{0xfc00_07ff, 0x9c, "dmul d,s,t"}, {0xfc00_07ff, 0xdc, "dmuh d,s,t"}, {0xfc00_07ff, 0x9d, "dmulu d,s,t"}, {0xfc00_07ff, 0xdd, "dmuhu d,s,t"},
	{0xfc00_07ff, 0x9e, "ddiv d,s,t"}, {0xfc00_07ff, 0xde, "dmod d,s,t"}, {0xfc00_07ff, 0x9f, "ddivu d,s,t"}, {0xfc00_07ff, 0xdf, "dmodu d,s,t"},
	{0xfc00_07ff, 0x35, "seleqz d,s,t"}, {0xfc00_07ff, 0x37, "selnez d,s,t"}, {0xfc00_073f, 0x05, "lsa d,s,t,z"}, {0xfc00_073f, 0x15, "dlsa d,s,t,z"},
	{0xfc1f_07ff, 0x50, "clz d,s"}, {0xfc1f_07ff, 0x51, "clo d,s"}, {0xfc1f_07ff, 0x52, "dclz d,s"}, {0xfc1f_07ff, 0x53, "dclo d,s"},
	{0xfc1f_f83f, 0x09, "jr s"}, {0xfc00_003f, 0x0e, "=sdbbp"},

	{0xffff_0000, 0x0410_0000, "=nal"}, {0xfc1f_0000, 0x0406_0000, "dahi s,u"}, {0xfc1f_0000, 0x041e_0000, "dati s,u"},
	{0xfc00_007f, 0x7c00_0026, "sc t,n"}, {0xfc00_007f, 0x7c00_0027, "scd t,n"}, {0xfc00_007f, 0x7c00_0036, "ll t,n"},
	{0xfc00_007f, 0x7c00_0037, "lld t,n"},
}

// Sets of numbers that release 6 took instructions from: opcodes (lwl, beql, cop1x, cache, pref, …),
// functions of SPECIAL (movf, jr, movz, movn, mfhi … ddivu), rt of REGIMM (bltzl, bgezl, bltzal, bgezal).
const (
	goneOpcodes uint64 = 1<<0x13 | 1<<0x14 | 1<<0x15 | 1<<0x1a | 1<<0x1b | 1<<0x1c | 1<<0x22 | 1<<0x26 | 1<<0x2a | 1<<0x2c |
		1<<0x2d | 1<<0x2e | 1<<0x2f | 1<<0x30 | 1<<0x33 | 1<<0x34 | 1<<0x38 | 1<<0x3c
	goneSpecial uint64 = 1<<0x01 | 1<<0x08 | 1<<0x0a | 1<<0x0b | 0xf<<0x10 | 0xff<<0x18
	goneRegimm  uint64 = 1<<0x02 | 1<<0x03 | 1<<0x10 | 1<<0x11
)

// release6Form is the form of a word that release 6 means otherwise; ok: release 6 differs there.
func release6Form(word uint32) (form string, ok bool) {
	op, rs, rt := word>>26, word>>21&31, word>>16&31
	if forms := mipsCompact[op]; forms[3] != "" {
		return compactForm(forms, op, rs, rt), true
	}
	if form, ok := formOf(mipsRelease6[:], word); ok {
		return form, true
	}
	switch {
	case op == 0:
		ok = goneSpecial>>(word&63)&1 != 0
	case op == 1:
		ok = goneRegimm>>rt&1 != 0 && word>>16 != 0x0411 // bal is left
	default:
		ok = goneOpcodes>>op&1 != 0
	}
	return "", ok
}

func compactForm(forms [4]string, op, rs, rt uint32) string {
	switch overflows := op == 0x08 || op == 0x18; {
	case overflows && rs >= rt: // bovc, bnvc
		return forms[2]
	case rs == 0 && rt != 0 || op >= 0x20 && rs == 0:
		return forms[1]
	case rt == 0:
		return forms[0]
	case rs == rt:
		return forms[2]
	}
	return forms[3]
}

// operandR6 writes the operands that release 6 added.
func (m mipsWord) operandR6(c rune) string {
	switch c {
	case 'c':
		return m.place(m.pc+4, 21, 2)
	case 'C':
		return m.place(m.pc+4, 26, 2)
	case 'p':
		return m.place(m.pc, 19, 2)
	case 'q':
		return m.place(m.pc&^7, 18, 3)
	case 'n':
		return fmt.Sprintf("%d(%s)", int32(m.word)<<16>>23, m.reg(21))
	case 'z':
		return fmt.Sprint(m.word>>6&3 + 1)
	}
	return string(c)
}
