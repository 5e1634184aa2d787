package arm64

import "testing"

// listing is an instruction at address 0x10000 and its effect. Memory is
// written as bits[address]; "w" marks a result of 32 bits, "-" what is not a
// general register; the update of a base register stands behind a semicolon.
type listing struct {
	word uint32
	text string
	want string
}

// Loads and stores. Floating-point registers are of no interest, the movement of
// sp with them is.
var loadsAndStores = []listing{
	{0xa9bc7bfd, "stp x29, x30, [sp, #-64]!", "64[sp-64] = x29,x30; sp-64"},
	{0x910003fd, "mov x29, sp", "x29 = sp"},
	{0xa90153f3, "stp x19, x20, [sp, #16]", "64[sp+16] = x19,x20"},
	{0xf90013f5, "str x21, [sp, #32]", "64[sp+32] = x21"},
	{0x6dbc27e8, "stp d8, d9, [sp, #-64]!", "128[sp-64] = -; sp-64"},
	{0x3c9f0fe8, "str q8, [sp, #-16]!", "128[sp-16] = -; sp-16"},
	{0x29010be1, "stp w1, w2, [sp, #8]", "32[sp+8] = x1,x2"},
	{0xa9017bff, "stp xzr, x30, [sp, #16]", "64[sp+16] = -,x30"},
	{0x698107e0, "stgp x0, x1, [sp, #32]!", "64[sp+32] = x0,x1; sp+32"},
	{0xd9e027ff, "stz2g sp, [sp], #32", "sp = sp+32"},
	{0xa8c47bfd, "ldp x29, x30, [sp], #64", "x29,x30 = 64[sp+0]; sp+64"},
	{0xa94153f3, "ldp x19, x20, [sp, #16]", "x19,x20 = 64[sp+16]"},
	{0x6cc127e8, "ldp d8, d9, [sp], #16", "sp = sp+16"},
	{0xf84107fe, "ldr x30, [sp], #16", "x30 = 64[sp+0]; sp+16"},
	{0xa9417bff, "ldp xzr, x30, [sp, #16]", "x30 = 64[sp+24]"},
	{0x69410440, "ldpsw x0, x1, [x2, #8]", "x0,x1 = 32[x2+8] signed"},
	{0xf8627820, "ldr x0, [x1, x2, lsl #3]", "x0 = 64[x1+0+x2<<3]"},
	{0x38624820, "ldrb w0, [x1, w2, uxtw]", "x0 = 8[x1+0+x2<<0]"},
	{0x79c00083, "ldrsh w3, [x4]", "x3 = 16[x4+0] signed w"},
	{0xb9800483, "ldrsw x3, [x4, #4]", "x3 = 32[x4+4] signed"},
	{0xf85f83a3, "ldur x3, [x29, #-8]", "x3 = 64[x29-8]"},
	{0x58000200, "ldr x0, .+0x40", "x0 = 64[-+65600]"},
	{0x98ffffe0, "ldrsw x0, .-4", "x0 = 32[-+65532] signed"},
	{0x9c000080, "ldr q0, .+16", "nop"},
	{0xf90003ff, "str xzr, [sp]", "64[sp+0] = -"},
	{0xf947fbff, "ldr xzr, [sp, #4080]", "nop"},
	{0xf8201c01, "ldraa x1, [x0, #8]!", "x1 = 64[x0+8]; x0+8"},
	{0xc8dffc20, "ldar x0, [x1]", "x0 = 64[x1+0]"},
	{0x889ffc20, "stlr w0, [x1]", "32[x1+0] = x0"},
	{0xf8bfc020, "ldapr x0, [x1]", "x0 = 64[x1+0]"},
	{0xc85ffc20, "ldaxr x0, [x1]", "x0 = 64[x1+0]"},
	{0xc8027c20, "stxr w2, x0, [x1]", "clobber x2"},
	{0xc87f0440, "ldxp x0, x1, [x2]", "x0,x1 = 64[x2+0]"},
	{0x48227cc4, "casp x2, x3, x4, x5, [x6]", "clobber x2 x3"},
	{0xf8210062, "ldadd x1, x2, [x3]", "clobber x2"},
	{0xf821007f, "stadd x1, [x3]", "nop"},
	{0xb8e18062, "swpal w1, w2, [x3]", "clobber x2"},
	{0x4c9f2fe8, "st1 {v8.2d-v11.2d}, [sp], #64", "512[sp+0] = -; sp+64"},
	{0x4cdf2fe8, "ld1 {v8.2d-v11.2d}, [sp], #64", "sp = sp+64"},
	{0x0dc19000, "ld1 {v0.s}[1], [x0], x1", "x0 = x0 + x1<<0"},
	{0xf9800000, "prfm pldl1keep, [x0]", "nop"},
}

// Instructions of late extensions (RCPC3, LSUI).
var lateLoadsAndStores = []listing{
	{0xd9010a39, "stilp x25, x1, [x17, #-16]!", "64[x17-16] = x25,x1; x17-16"},
	{0x99021a5a, "stilp w26, w2, [x18]", "32[x18+0] = x26,x2"},
	{0xd9410a39, "ldiapp x25, x1, [x17], #16", "x25,x1 = 64[x17+0]; x17+16"},
	{0x99c00be3, "ldapr w3, [sp], #4", "x3 = 32[sp+0]; sp+4"},
	{0xd9800be3, "stlr x3, [sp, #-8]!", "64[sp-8] = x3; sp-8"},
	{0xc95f7fe9, "ldtxr x9, [sp]", "x9 = 64[sp+0]"},
}

// Arithmetic, constants, and what moves sp.
var arithmetic = []listing{
	{0xd10043ff, "sub sp, sp, #16", "sp = sp-16"},
	{0xd14007ff, "sub sp, sp, #1, lsl #12", "sp = sp-4096"},
	{0xcb3063ff, "sub sp, sp, x16", "sp = sp - x16<<0"},
	{0x8b2053ff, "add sp, sp, w0, uxtw #4", "clobber sp"},
	{0x8b24a824, "add x4, x1, w4, sxth #2", "x4 = x1 + x4<<2 signed"},
	{0x910003bf, "mov sp, x29", "sp = x29"},
	{0x910043fd, "add x29, sp, #16", "x29 = sp+16"},
	{0xd10083bf, "sub sp, x29, #32", "sp = x29-32"},
	{0x927be93f, "and sp, x9, #0xffffffffffffffe0", "sp = x9 & 0xffffffffffffffe0"},
	{0x11000420, "add w0, w1, #1", "x0 = x1+1 w"},
	{0x8b020c20, "add x0, x1, x2, lsl #3", "x0 = x1 + x2<<3"},
	{0xcb420c20, "sub x0, x1, x2, lsr #3", "clobber x0"},
	{0xcb0103e0, "neg x0, x1", "clobber x0"},
	{0xf1000400, "subs x0, x0, #1", "x0 = x0-1"},
	{0x7100241f, "cmp w0, #9", "compare x0 9 w"},
	{0xb100041f, "cmn x0, #1", "compare x0 -1"},
	{0xf240001f, "tst x0, #1", "nop"},
	{0xeb01001f, "cmp x0, x1", "nop"},
	{0xaa0103e0, "mov x0, x1", "x0 = x1"},
	{0x2a0103e0, "mov w0, w1", "x0 = x1 w"},
	{0xaa1f03e0, "mov x0, xzr", "x0 = 0x0"},
	{0xaa020020, "orr x0, x1, x2", "x0 = x1 | x2"},
	{0xb2401c20, "orr x0, x1, #0xff", "x0 = x1 | 0xff"},
	{0xb2089fe0, "mov x0, #0xff00ff00ff00ff00", "x0 = 0xff00ff00ff00ff00"},
	{0x92800000, "mov x0, #-1", "x0 = 0xffffffffffffffff"},
	{0x12800020, "mov w0, #-2", "x0 = 0xfffffffe"},
	{0xd2a00240, "movz x0, #0x12, lsl #16", "x0 = 0x120000"},
	{0xf2868ac0, "movk x0, #0x3456", "x0[0] = 0x3456"},
	{0x72a00020, "movk w0, #1, lsl #16", "x0[16] = 0x1 w"},
	{0x10000040, "adr x0, .+8", "x0 = 0x10008 address"},
	{0x90000000, "adrp x0, .+0x2000", "x0 = 0x10000 address"},
	{0xd37df020, "lsl x0, x1, #3", "x0 = x1 << 3"},
	{0xd341fc20, "lsr x0, x1, #1", "x0 = x1 >> 1"},
	{0x53017ea1, "lsr w1, w21, #1", "x1 = x21 >> 1 w"},
	{0x53037c20, "ubfx w0, w1, #3, #29", "x0 = x1 >> 3 w"},
	{0x53031420, "ubfx w0, w1, #3, #3", "clobber x0"},
	{0x53001c20, "uxtb w0, w1", "x0 = x1 & 0xff w"},
	{0x93407c20, "sxtw x0, w1", "clobber x0"},
	{0x9a820020, "csel x0, x1, x2, eq", "clobber x0"},
	{0x1a9f07e0, "cset w0, ne", "clobber x0"},
}

// Control flow.
var transfers = []listing{
	{0x94000040, "bl .+0x100", "x30 = call 0x10100"},
	{0x94000001, "bl .+4", "x30 = call 0x10004"},
	{0xd63f0100, "blr x8", "x30 = call x8"},
	{0xd63f091f, "blraaz x8", "x30 = call x8"},
	{0x17fffffe, "b .-8", "jump 0xfff8"},
	{0xd61f0200, "br x16", "jump x16"},
	{0xd61f03e0, "br xzr", "trap"},
	{0xd71f0a11, "braa x16, x17", "jump x16"},
	{0xd65f03c0, "ret", "return x30"},
	{0xd65f01e0, "ret x15", "return x15"},
	{0xd65f0bff, "retaa", "return x30 sign"},
	{0xd69f03e0, "eret", "return pc exception"},
	{0xd5384036, "mrs x22, elr_el1", "x22 = pc"},
	{0xd53d403f, "mrs xzr, elr_el12", "nop"},
	{0xd51c4035, "msr elr_el2, x21", "pc = x21"},
	{0xd5384017, "mrs x23, spsr_el1", "clobber x23"},
	{0x54000040, "b.eq .+8", "jump 0x10008+1 conditional"},
	{0x54000041, "b.ne .+8", "jump 0x10008+1 conditional"},
	{0x54000048, "b.hi .+8", "jump 0x10008 conditional"},
	{0x5400004e, "b.al .+8", "jump 0x10008"},
	{0xb4000080, "cbz x0, .+16", "jump 0x10010 x0 conditional"},
	{0x372fff83, "tbnz w3, #5, .-16", "jump 0xfff0 x3 conditional"},
	{0x74052005, "cbgt w5, w5, .-1024", "jump 0xfc00 x5,x5 conditional"},
	{0xd4000001, "svc #0", "syscall 0 x0"},
	{0xd4000002, "hvc #0", "syscall 0 x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17"},
	{0xd4207d00, "brk #0x3e8", "trap"},
	{0xd4210000, "brk #0x800", "trap conditional"},
	{0xd4400000, "hlt #0", "trap"},
	{0xd45e0000, "hlt #0xf000", "syscall 61440 x0"},
	{0x00000000, "udf #0", "trap padding"},
	{0x00000001, "udf #1", "trap"},
}

// Hints, pointer authentication (with PAuth_LR), landing pads, system registers.
var hints = []listing{
	{0xd503233f, "paciasp", "x30 = x30 entry sign"},
	{0xd50323bf, "autiasp", "x30 = x30 sign"},
	{0xd503237f, "pacibsp", "x30 = x30 entry sign"},
	{0xd50320ff, "xpaclri", "x30 = x30 sign"},
	{0xdac103fe, "pacia x30, sp", "x30 = x30 sign"},
	{0xd503211f, "pacia1716", "clobber x17"},
	{0xdac10041, "pacia x1, x2", "clobber x1"},
	{0xd503201f, "nop", "nop padding"},
	{0xd503245f, "bti c", "nop entry"},
	{0xd503249f, "bti j", "nop"},
	{0xd50324df, "bti jc", "nop entry"},
	{0xd503203f, "yield", "nop"},
	{0xdac1a3fe, "paciasppc", "x30 = x30 entry sign"},
	{0xdac1901e, "autiasppcr x0", "x30 = x30 sign"},
	{0xf380001f, "autiasppc .", "x30 = x30 sign"},
	{0x5500001f, "retaasppc .", "return x30 sign"},
	{0xdac18bfe, "pacia171615", "clobber x17"},
	{0xd53bd040, "mrs x0, tpidr_el0", "clobber x0"},
	{0xd51bd040, "msr tpidr_el0, x0", "nop"},
	{0xd5033bbf, "dmb ish", "nop"},
}

// Vector instructions that write general registers, or look as if they did; tags.
var vectors = []listing{
	{0x9e660000, "fmov x0, d0", "clobber x0"},
	{0x9e670000, "fmov d0, x0", "nop"},
	{0x1e380000, "fcvtzs w0, s0", "clobber x0"},
	{0x0e073c00, "umov w0, v0.b[3]", "clobber x0"},
	{0x1e612000, "fcmp d0, d1", "nop"},
	{0x043f57df, "addvl sp, sp, #-2", "clobber sp"},
	{0x047f5020, "addpl x0, sp, #1", "clobber x0"},
	{0x04bf5020, "rdvl x0, #1", "clobber x0"},
	{0x0420e3e0, "cntb x0", "clobber x0"},
	{0x04f0e3e0, "incd x0", "clobber x0"},
	{0xe58047e8, "str z8, [sp, #1, mul vl]", "nop"},
	{0x9adf101f, "irg sp, x0", "clobber sp"},
	{0x918107ff, "addg sp, sp, #16, #1", "clobber sp"},
}

// Unallocated encodings must not be taken for anything.
var unallocated = []listing{
	{0x00010000, ".inst", "unknown"},
	{0x02000000, ".inst", "unknown"},
	{0x12400000, "and w0, w0, N=1", "unknown"},
	{0x12e00000, "movn w0, #0, lsl #48", "unknown x0"},
	{0xd61e0000, "br with op2 not 11111", "unknown"},
}

func TestLoadsAndStores(t *testing.T) { check(t, loadsAndStores); check(t, lateLoadsAndStores) }
func TestArithmetic(t *testing.T)     { check(t, arithmetic) }
func TestTransfers(t *testing.T)      { check(t, transfers) }
func TestHints(t *testing.T)          { check(t, hints) }
func TestVectors(t *testing.T)        { check(t, vectors) }
func TestUnallocated(t *testing.T)    { check(t, unallocated) }

func check(t *testing.T, table []listing) {
	t.Helper()
	for _, l := range table {
		if got := show(decodeWord(l.word, 0x10000)); got != l.want {
			t.Errorf("%08x %s: got %s, want %s", l.word, l.text, got, l.want)
		}
	}
}
