package disassemble

// Forms of T32 are a mnemonic and operands, in which braces hold fields (see thumbWord.field). "*"
// behind a mnemonic: s, but not in an IT block, where such instructions leave the flags alone;
// "!": s where bit 20 is set.

// thumb16 are the instructions of 16 bits, ARM DDI 0403E.e §A5.2; of those that match, the first.
var thumb16 = [...]coding{
	{0xffc0, 0x0000, "mov* {d}, {n}"}, {0xf800, 0x0000, "lsl* {d}, {n}, #{5@6}"}, {0xf800, 0x0800, "lsr* {d}, {n}, #{shift}"},
	{0xf800, 0x1000, "asr* {d}, {n}, #{shift}"}, {0xfe00, 0x1800, "add* {d}, {n}, {m}"}, {0xfe00, 0x1a00, "sub* {d}, {n}, {m}"},
	{0xfe00, 0x1c00, "add* {d}, {n}, #{3@6}"}, {0xfe00, 0x1e00, "sub* {d}, {n}, #{3@6}"},
	{0xf800, 0x2000, "mov* {e}, #{8@0}"}, {0xf800, 0x2800, "cmp {e}, #{8@0}"}, {0xf800, 0x3000, "add* {e}, #{8@0}"},
	{0xf800, 0x3800, "sub* {e}, #{8@0}"},

	{0xffc0, 0x4000, "and* {d}, {n}"}, {0xffc0, 0x4040, "eor* {d}, {n}"}, {0xffc0, 0x4080, "lsl* {d}, {n}"}, {0xffc0, 0x40c0, "lsr* {d}, {n}"},
	{0xffc0, 0x4100, "asr* {d}, {n}"}, {0xffc0, 0x4140, "adc* {d}, {n}"}, {0xffc0, 0x4180, "sbc* {d}, {n}"}, {0xffc0, 0x41c0, "ror* {d}, {n}"},
	{0xffc0, 0x4200, "tst {d}, {n}"}, {0xffc0, 0x4240, "neg* {d}, {n}"}, {0xffc0, 0x4280, "cmp {d}, {n}"}, {0xffc0, 0x42c0, "cmn {d}, {n}"},
	{0xffc0, 0x4300, "orr* {d}, {n}"}, {0xffc0, 0x4340, "mul* {d}, {n}"}, {0xffc0, 0x4380, "bic* {d}, {n}"}, {0xffc0, 0x43c0, "mvn* {d}, {n}"},
	{0xff00, 0x4400, "add {D}, {M}"}, {0xff00, 0x4500, "cmp {D}, {M}"}, {0xff00, 0x4600, "mov {D}, {M}"},
	{0xff87, 0x4700, "bx {M}"}, {0xff87, 0x4780, "blx {M}"}, {0xff87, 0x4704, "bxns {M}"}, {0xff87, 0x4784, "blxns {M}"},

	{0xf800, 0x4800, "ldr {e}, [pc, #{8@0*4}]"},
	{0xfe00, 0x5000, "str {d}, [{n}, {m}]"}, {0xfe00, 0x5200, "strh {d}, [{n}, {m}]"}, {0xfe00, 0x5400, "strb {d}, [{n}, {m}]"},
	{0xfe00, 0x5600, "ldrsb {d}, [{n}, {m}]"},
	{0xfe00, 0x5800, "ldr {d}, [{n}, {m}]"}, {0xfe00, 0x5a00, "ldrh {d}, [{n}, {m}]"}, {0xfe00, 0x5c00, "ldrb {d}, [{n}, {m}]"},
	{0xfe00, 0x5e00, "ldrsh {d}, [{n}, {m}]"},
	{0xf800, 0x6000, "str {d}, [{n}{+5@6*4}]"}, {0xf800, 0x6800, "ldr {d}, [{n}{+5@6*4}]"}, {0xf800, 0x7000, "strb {d}, [{n}{+5@6}]"},
	{0xf800, 0x7800, "ldrb {d}, [{n}{+5@6}]"},
	{0xf800, 0x8000, "strh {d}, [{n}{+5@6*2}]"}, {0xf800, 0x8800, "ldrh {d}, [{n}{+5@6*2}]"}, {0xf800, 0x9000, "str {e}, [sp{+8@0*4}]"},
	{0xf800, 0x9800, "ldr {e}, [sp{+8@0*4}]"},
	{0xf800, 0xa000, "add {e}, pc, #{8@0*4}"}, {0xf800, 0xa800, "add {e}, sp, #{8@0*4}"}, {0xff80, 0xb000, "add sp, #{7@0*4}"},
	{0xff80, 0xb080, "sub sp, #{7@0*4}"},
	{0xf800, 0xc000, "stmia {e}!, {list}"}, {0xf800, 0xc800, "ldmia {e}{wback}, {list}"},
	{0xfe00, 0xb400, "push {list}"}, {0xfe00, 0xbc00, "pop {list}"},

	{0xfd00, 0xb100, "cbz {d}, {near}"}, {0xfd00, 0xb900, "cbnz {d}, {near}"},
	{0xffc0, 0xb200, "sxth {d}, {n}"}, {0xffc0, 0xb240, "sxtb {d}, {n}"}, {0xffc0, 0xb280, "uxth {d}, {n}"}, {0xffc0, 0xb2c0, "uxtb {d}, {n}"},
	{0xffc0, 0xba00, "rev {d}, {n}"}, {0xffc0, 0xba40, "rev16 {d}, {n}"}, {0xffc0, 0xbac0, "revsh {d}, {n}"},
	{0xffff, 0xb650, "setend le"}, {0xffff, 0xb658, "setend be"}, {0xfff8, 0xb660, "cpsie {aif}"}, {0xfff8, 0xb670, "cpsid {aif}"},
	{0xff00, 0xbe00, "bkpt {x8}"}, {0xffc0, 0xba80, "hlt {x6}"},
	{0xffff, 0xbf00, "nop"}, {0xffff, 0xbf10, "yield"}, {0xffff, 0xbf20, "wfe"}, {0xffff, 0xbf30, "wfi"}, {0xffff, 0xbf40, "sev"},
	{0xff00, 0xde00, "udf #{8@0}"}, {0xff00, 0xdf00, "svc {8@0}"}, {0xf000, 0xd000, "b{cond}.n {b8}"}, {0xf800, 0xe000, "b.n {b11}"},
}
