package disassemble

import "fmt"

// mipsMasked are instructions that neither the opcode nor one field beside it tells: those of
// SPECIAL2 and SPECIAL3, of floating point, prefetches. Further letters: m and x the sizes of ext
// and ins, f and g the condition of the floating-point unit that is read or set, k its control
// register, h the hint of pref.
var mipsMasked = [...]coding{
	{0xfc00_003f, 0x7c00_0000, "ext t,s,a,m"}, {0xfc00_003f, 0x7c00_0004, "ins t,s,a,x"}, {0xffe0_07ff, 0x7c00_0420, "seb d,t"},
	{0xffe0_07ff, 0x7c00_0620, "seh d,t"},
	{0xffe0_07ff, 0x7c00_00a0, "wsbh d,t"}, {0xffe0_07ff, 0x7c00_00a4, "dsbh d,t"}, {0xffe0_07ff, 0x7c00_0164, "dshd d,t"},
	{0xfc00_07ff, 0x7000_0020, "clz d,s"}, {0xfc00_07ff, 0x7000_0021, "clo d,s"}, {0xfc00_07ff, 0x7000_0024, "dclz d,s"},
	{0xfc00_07ff, 0x7000_0025, "dclo d,s"},
	{0xfc00_ffff, 0x7000_0000, "madd s,t"}, {0xfc00_ffff, 0x7000_0001, "maddu s,t"}, {0xfc00_ffff, 0x7000_0004, "msub s,t"},
	{0xfc00_ffff, 0x7000_0005, "msubu s,t"},
	{0xfc00_0000, 0xcc00_0000, "pref h,o"}, {0xfc00_0000, 0xbc00_0000, "cache h,o"},
	{0xfc01_07ff, 0x01, "movf d,s,f"}, {0xfc01_07ff, 0x0001_0001, "movt d,s,f"},

	{0xffe0_07ff, 0x4400_0000, "mfc1 t,S"}, {0xffe0_07ff, 0x4480_0000, "mtc1 t,S"}, {0xffe0_07ff, 0x4420_0000, "dmfc1 t,S"},
	{0xffe0_07ff, 0x44a0_0000, "dmtc1 t,S"},
	{0xffe0_07ff, 0x4460_0000, "mfhc1 t,S"}, {0xffe0_07ff, 0x44e0_0000, "mthc1 t,S"}, {0xffe0_ffff, 0x4440_f800, "cfc1 t,k"},
	{0xffe0_ffff, 0x44c0_f800, "ctc1 t,k"},
	{0xffff_0000, 0x4500_0000, "bc1f b"}, {0xffff_0000, 0x4501_0000, "bc1t b"}, {0xffe3_0000, 0x4500_0000, "bc1f f,b"},
	{0xffe3_0000, 0x4501_0000, "bc1t f,b"},
	{0xffc0_003f, 0x4600_0000, "add.F D,S,T"}, {0xffc0_003f, 0x4600_0001, "sub.F D,S,T"}, {0xffc0_003f, 0x4600_0002, "mul.F D,S,T"},
	{0xffc0_003f, 0x4600_0003, "div.F D,S,T"},
	{0xffdf_003f, 0x4600_0004, "sqrt.F D,S"}, {0xffdf_003f, 0x4600_0005, "abs.F D,S"}, {0xffdf_003f, 0x4600_0006, "mov.F D,S"},
	{0xffdf_003f, 0x4600_0007, "neg.F D,S"},
	{0xffdf_003f, 0x4600_000d, "trunc.w.F D,S"}, {0xffdf_003f, 0x4600_0009, "trunc.l.F D,S"}, {0xffdf_003f, 0x4600_0024, "cvt.w.F D,S"},
	{0xffdf_003f, 0x4600_0025, "cvt.l.F D,S"},
	{0xffff_003f, 0x4620_0020, "cvt.s.d D,S"}, {0xffff_003f, 0x4600_0021, "cvt.d.s D,S"}, {0xffff_003f, 0x4680_0020, "cvt.s.w D,S"},
	{0xffff_003f, 0x4680_0021, "cvt.d.w D,S"},
	{0xffff_003f, 0x46a0_0020, "cvt.s.l D,S"}, {0xffff_003f, 0x46a0_0021, "cvt.d.l D,S"},
	{0xffc0_07f0, 0x4600_0030, "c.C.F S,T"}, {0xffc0_00f0, 0x4600_0030, "c.C.F g,S,T"},
}

// mipsComparisons are the conditions of c.COND.FMT, by the lowest bits.
var mipsComparisons = [16]string{"f", "un", "eq", "ueq", "olt", "ult", "ole", "ule", "sf", "ngle", "seq", "ngl", "lt", "nge", "le", "ngt"}

// operandMasked writes the operands of the forms above.
func (m mipsWord) operandMasked(c rune) string {
	w := m.word
	switch c {
	case 'D':
		return fmt.Sprintf("$f%d", w>>6&31)
	case 'S':
		return fmt.Sprintf("$f%d", w>>11&31)
	case 'm':
		return fmt.Sprint(w>>11&31 + 1)
	case 'x': // from the least to the most significant bit
		return fmt.Sprint(int32(w>>11&31) - int32(w>>6&31) + 1)
	case 'f':
		return fmt.Sprintf("$fcc%d", w>>18&7)
	case 'g':
		return fmt.Sprintf("$fcc%d", w>>8&7)
	case 'k':
		return "c1_fcsr"
	case 'h':
		return fmt.Sprintf("%#x", w>>16&31)
	}
	return m.operandR6(c)
}
