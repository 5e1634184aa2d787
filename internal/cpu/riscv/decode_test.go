package riscv

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

var rv64zc = decoder{isa{rv64: true, zcmp: true}}

// listing is an instruction at address 0x10000, its bytes in the order of
// memory, and its effect. Memory is written as bits[address]; "w" marks a
// result of 32 bits, "-" what is not a general register; a push or pop's
// update of sp stands behind the semicolon.
type listing struct {
	d    decoder
	code string
	text string
	want string
}

// Frames. Zcmp saves ra lowest and ends at the CFA (encodings from the examples
// of the Zc chapter); Zcmp on RV64 is not in rv64, whose ABI has D.
var frames = []listing{
	{rv64, "3971", "c.addi16sp sp, -64", "sp = sp-64"},
	{rv64, "13010183", "addi sp, sp, -2000", "sp = sp-2000"},
	{rv64, "33015100", "add sp, sp, t0", "sp = sp + t0<<0"},
	{rv64, "33015140", "sub sp, sp, t0", "sp = sp - t0<<0"},
	{rv64, "06fc", "c.sdsp ra, 56(sp)", "64[sp+56] = ra"},
	{rv64, "233883fe", "sd s0, -16(t1)", "64[t1-16] = s0"},
	{rv64, "2ac2", "c.swsp a0, 4(sp)", "32[sp+4] = a0"},
	{rv64, "8000", "c.addi4spn s0, sp, 64", "s0 = sp+64"},
	{rv64, "13040105", "addi s0, sp, 80", "s0 = sp+80"},
	{rv64, "130104fb", "addi sp, s0, -80", "sp = s0-80"},
	{rv64, "137101ff", "andi sp, sp, -16", "sp = sp & 0xfffffffffffffff0"},
	{rv64, "0a84", "c.mv s0, sp", "s0 = sp"},
	{rv64, "e270", "c.ldsp ra, 56(sp)", "ra = 64[sp+56]"},
	{rv64, "1245", "c.lwsp a0, 4(sp)", "a0 = 32[sp+4] signed"},
	{rv64, "22a4", "c.fsdsp fs0, 8(sp)", "64[sp+8] = -"},
	{rv64, "2224", "c.fldsp fs0, 8(sp)", "nop"},
	{rv64, "27228100", "fsw fs0, 4(sp)", "32[sp+4] = -"},
	{rv64, "4101", "c.addi sp, 16", "sp = sp+16"},
	{rv32, "2264", "c.flwsp fs0, 8(sp)", "nop"},
	{rv32, "22e4", "c.fswsp fs0, 8(sp)", "32[sp+8] = -"},
	{rv32zc, "62b8", "cm.push {ra, s0-s1}, -16", "32[sp-12] = {ra s0 s1} frame; sp-16"},
	{rv32zc, "feb8", "cm.push {ra, s0-s11}, -112", "32[sp-52] = {ra s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11} frame; sp-112"},
	{rv32zc, "56ba", "cm.pop {ra, s0}, 32", "{ra s0} = 32[sp+24] frame; sp+32"},
	{rv32zc, "42be", "cm.popret {ra}, 16", "{ra} = 32[sp+12] return frame; sp+16"},
	{rv32zc, "f2bc", "cm.popretz {ra, s0-s11}, 64", "{ra s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11} = 32[sp+12] return frame; sp+64"},
	{rv32zc, "a2ac", "cm.mvsa01 s1, s0", "clobber s0 s1"},
	{rv32zc, "e2ac", "cm.mva01s s1, s0", "clobber a0 a1"},
	{rv64zc, "72b8", "cm.push {ra, s0-s2}, -32", "64[sp-32] = {ra s0 s1 s2} frame; sp-32"},
	{rv64zc, "f2be", "cm.popret {ra, s0-s11}, 112", "{ra s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11} = 64[sp+8] return frame; sp+112"},
	{rv32zc, "32b8", "cm.push, reserved list", "unknown"},
	{rv64, "734010ce", "sspush ra", "64[ssp-8] = ra; ssp-8"},
	{rv64, "734050ce", "sspush t0", "64[ssp-8] = t0; ssp-8"},
	{rv32, "8160", "c.sspush ra", "32[ssp-4] = ra; ssp-4"},
	{rv64, "73c0c0cd", "sspopchk ra", "ssp = ssp+8"},
	{rv64, "73c0c2cd", "sspopchk t0", "ssp = ssp+8"},
	{rv64, "8162", "c.sspopchk t0", "ssp = ssp+8"},
}

// Constants, arithmetic and what writes a general register beside it.
var constants = []listing{
	{rv64, "b7f2ffff", "lui t0, 0xfffff", "t0 = 0xfffffffffffff000"},
	{rv64, "0565", "c.lui a0, 1", "a0 = 0x1000"},
	{rv64, "7d55", "c.li a0, -1", "a0 = 0xffffffffffffffff"},
	{rv64, "13054006", "addi a0, zero, 100", "a0 = 0x64"},
	{rv64, "1b051500", "addiw a0, a0, 1", "a0 = a0+1 w"},
	{rv64, "0125", "c.addiw a0, 0", "a0 = a0+0 w"},
	{rv64, "13953500", "slli a0, a1, 3", "a0 = a1 << 3"},
	{rv64, "0215", "c.slli a0, 32", "a0 = a0 << 32"},
	{rv64, "1b952500", "slliw a0, a1, 2", "a0 = a1 << 2 w"},
	{rv64, "13d53500", "srli a0, a1, 3", "a0 = a1 >> 3"},
	{rv64, "13d53540", "srai a0, a1, 3", "clobber a0"},
	{rv64, "1bd52500", "srliw a0, a1, 2", "a0 = a1 >> 2 w"},
	{rv64, "13e51500", "ori a0, a1, 1", "a0 = a1 | 0x1"},
	{rv64, "3d89", "c.andi a0, 15", "a0 = a0 & 0xf"},
	{rv64, "13b5a500", "sltiu a0, a1, 10", "a0 = compare a1 10"},
	{rv64, "17050100", "auipc a0, 0x10", "a0 = 0x20000 address"},
	{rv64, "13850500", "mv a0, a1", "a0 = a1"},
	{rv64, "3305b000", "add a0, zero, a1", "a0 = a1"},
	{rv64, "2e95", "c.add a0, a1", "a0 = a0 + a1<<0"},
	{rv64, "0d8d", "c.sub a0, a1", "a0 = a0 - a1<<0"},
	{rv64, "0d9d", "c.subw a0, a1", "a0 = a0 - a1<<0 w"},
	{rv64, "3b85c500", "addw a0, a1, a2", "a0 = a1 + a2<<0 w"},
	{rv64, "4d8d", "c.or a0, a1", "a0 = a0 | a1"},
	{rv64, "33e5c500", "or a0, a1, a2", "a0 = a1 | a2"},
	{rv64, "33c5c500", "xor a0, a1, a2", "clobber a0"},
	{rv64, "33c5c520", "sh2add a0, a1, a2", "a0 = a2 + a1<<2"},
	{rv64, "13950560", "clz a0, a1", "clobber a0"},
	{rv64, "3385c502", "mul a0, a1, a2", "clobber a0"},
	{rv64, "732500c0", "csrr a0, cycle", "clobber a0"},
	{rv64, "73100534", "csrw mscratch, a0", "nop"},
	{rv64, "73110114", "csrrw sp, sscratch, sp", "clobber sp"},
	{rv64, "5325b5a2", "feq.d a0, fa0, fa1", "clobber a0"},
	{rv64, "530505e2", "fmv.x.d a0, fa0", "clobber a0"},
	{rv64, "531505c2", "fcvt.w.d a0, fa0, rtz", "clobber a0"},
	{rv64, "5375b502", "fadd.d fa0, fa0, fa1", "nop"},
	{rv64, "57f5050d", "vsetvli a0, a1, e32, m1, ta, ma", "clobber a0"},
	{rv64, "57251042", "vmv.x.s a0, v1", "clobber a0"},
	{rv64, "d7802102", "vadd.vv v1, v2, v3", "nop"},
	{rv64, "87600502", "vle32.v v1, (a0)", "nop"},
	{rv64, "2f25b600", "amoadd.w a0, a1, (a2)", "clobber a0"},
	{rv64, "2f25b618", "sc.w a0, a1, (a2)", "clobber a0"},
	{rv64, "13000000", "nop", "nop padding"},
	{rv64, "0100", "c.nop", "nop padding"},
	{rv64, "0f00f00f", "fence", "nop"},
	{rv32, "b7f2ffff", "lui t0, 0xfffff", "t0 = 0xfffffffffffff000"},
	{rv32, "17f5ffff", "auipc a0, 0xfffff", "a0 = 0xf000 address"},
	{rv32, "1395f501", "slli a0, a1, 31", "a0 = a1 << 31"},
	{rv64, "619c", "c.zext.b s0", "s0 = s0 & 0xff"},
	{rv64, "17000000", "lpad 0", "nop entry"},
}

// Loads and stores.
var memoryAccess = []listing{
	{rv64, "8865", "c.ld a0, 8(a1)", "a0 = 64[a1+8]"},
	{rv64, "c841", "c.lw a0, 4(a1)", "a0 = 32[a1+4] signed"},
	{rv64, "03e50500", "lwu a0, 0(a1)", "a0 = 32[a1+0]"},
	{rv64, "0385f5ff", "lb a0, -1(a1)", "a0 = 8[a1-1] signed"},
	{rv64, "03250001", "lw a0, 16(zero)", "a0 = 32[-+16] signed"},
	{rv64, "03200500", "lw zero, 0(a0)", "nop"},
	{rv64, "23340500", "sd zero, 8(a0)", "64[a0+8] = zero"},
	{rv64, "0825", "c.fld fa0, 8(a0)", "nop"},
	{rv64, "07250500", "flw fa0, 0(a0)", "nop"},
	{rv32, "4861", "c.flw fa0, 4(a0)", "nop"},
	{rv64, "3c83", "c.lbu a5, 2(a4)", "a5 = 8[a4+2]"},
	{rv64, "7c87", "c.lh a5, 2(a4)", "a5 = 16[a4+2] signed"},
	{rv64, "3c8b", "c.sb a5, 2(a4)", "8[a4+2] = a5"},
	{rv32, "03250400", "lw a0, 0(s0)", "a0 = 32[s0+0]"},
	{rv32, "03350400", "ld a0, 0(s0), Zilsd", "a0,a1 = 32[s0+0]"},
	{rv32, "2330a400", "sd a0, 0(s0), Zilsd", "32[s0+0] = a0,a1"},
}

// Control flow.
var transfers = []listing{
	{rv64, "ef000010", "jal ra, .+0x100", "ra = call 0x10100"},
	{rv64, "ef020010", "jal t0, .+0x100", "t0 = call 0x10100"},
	{rv64, "6ff09fff", "jal zero, .-8", "jump 0xfff8"},
	{rv64, "6f030010", "jal t1, .+0x100", "t1 = call 0x10100"},
	{rv64, "e7800700", "jalr ra, 0(a5)", "ra = call a5"},
	{rv64, "e7800701", "jalr ra, 16(a5)", "ra = call a5+16"},
	{rv64, "67800000", "jalr zero, 0(ra)", "return ra"},
	{rv64, "67800200", "jalr zero, 0(t0)", "return t0"},
	{rv64, "67808200", "jalr zero, 8(t0)", "jump t0+8"},
	{rv64, "67030e00", "jalr t1, 0(t3)", "jump t3"},
	{rv64, "8280", "c.jr ra", "return ra"},
	{rv64, "8282", "c.jr t0", "return t0"},
	{rv64, "0283", "c.jr t1", "jump t1"},
	{rv64, "8297", "c.jalr a5", "ra = call a5"},
	{rv64, "01a8", "c.j .+16", "jump 0x10010"},
	{rv64, "6304b500", "beq a0, a1, .+8", "jump 0x10008 a0,a1 conditional"},
	{rv64, "7ddd", "c.beqz a0, .-2", "jump 0xfffe a0,zero conditional"},
	{rv64, "89e0", "c.bnez s1, .+2", "jump 0x10002 s1,zero conditional"},
	{rv64, "73000000", "ecall", "syscall 0 a0 a1"},
	{rv64, "73001000", "ebreak", "trap"},
	{rv64, "0290", "c.ebreak", "trap"},
	{rv64, "731000c0", "unimp", "trap"},
	{rv64, "0000", "c.unimp", "trap padding"},
	{rv64, "73002030", "mret", "return pc exception"},
	{rv64, "73002010", "sret", "return pc exception"},
	{rv64, "f3221014", "csrr t0,sepc", "t0 = pc"},
	{rv64, "73101514", "csrw sepc,a0", "pc = a0"},
	{rv64, "f3225114", "csrrwi t0,sepc,2", "clobber t0"},
	{rv64, "73005010", "wfi", "nop"},
	{rv32, "0128", "c.jal .+16", "ra = call 0x10010"},
	{rv32zc, "06a0", "cm.jt 1", "jump-1 memory"},
	{rv32zc, "82a0", "cm.jalt 32", "ra = call-1 memory"},
}

// What is not allocated, and what only looks so.
var illegal = []listing{
	{rv64, "ffff", "erased flash", "trap padding"},
	{rv64, "1f0512345678", "48 bits, rd = a0", "unknown a0"},
	{rv64, "3f05123456780000", "64 bits, rd = a0", "unknown a0"},
	{rv64, "0b050000", "custom-0, rd = a0", "unknown a0"},
	{rv64, "0280", "c.jr zero, reserved", "unknown"},
	{rv32, "1b050000", "addiw on RV32", "unknown a0"},
	{rv32, "03650000", "lwu on RV32", "unknown a0"},
	{rv64, "0161", "c.addi16sp sp, 0, reserved", "unknown sp"},
	{rv64, "8161", "c.mop.3", "nop"},
	{rv64, "0400", "c.addi4spn s1, sp, 0, reserved", "unknown s1"},
}

func TestFrames(t *testing.T)       { check(t, frames) }
func TestConstants(t *testing.T)    { check(t, constants) }
func TestMemoryAccess(t *testing.T) { check(t, memoryAccess) }
func TestTransfers(t *testing.T)    { check(t, transfers) }
func TestIllegal(t *testing.T)      { check(t, illegal) }

func check(t *testing.T, table []listing) {
	t.Helper()
	for _, l := range table {
		code := bytesOf(t, l.code)
		in := decodeAt(l.d, code, 0x10000)
		if got := show(in); got != l.want || int(in.Len) != len(code) {
			t.Errorf("%s %s: got %s, want %s", l.code, l.text, got, l.want)
		}
	}
}

// TestSequences: what an instruction means can depend on the one before it.
func TestSequences(t *testing.T) {
	for _, c := range []struct {
		name string
		d    decoder
		code string
		want []string
	}{
		{"far call", rv64, "97200100" + "e78000ff", []string{"ra = 0x22000 address", "ra = call 0x21ff0"}},
		{"far tail call", rv64, "17230100" + "67000300", []string{"t1 = 0x22000 address", "jump 0x22000"}},
		{"far jump through t0 is no return", rv64, "97220100" + "67800200", []string{"t0 = 0x22000 address", "jump 0x22000"}},
		{"call of ROM", rv32, "b7000040" + "e7804002", []string{"ra = 0x40000000", "ra = call 0x40000024"}},
		{"call through another register", rv64, "17230100" + "e7800700", []string{"t1 = 0x22000 address", "ra = call a5"}},
		{"far call that wraps", rv32, "97f0ffff" + "e7800000", []string{"ra = 0xf000 address", "ra = call 0xf000"}},
		{"semihosting call: slli; ebreak; srai", rv64, "1310f001" + "73001000" + "13507040",
			[]string{"nop", "syscall 0 a0", "nop"}},
		{"16, 32, 48 and 64 bits", rv64, "0111" + "13010183" + "1f0500000000" + "3f05000000000000" + "8280",
			[]string{"sp = sp-32", "sp = sp-2000", "unknown a0", "unknown a0", "return ra"}},
		{"half an instruction", rv64, "8280" + "1301", []string{"return ra"}},
	} {
		var out [8]cpu.Insn
		n := c.d.Decode(bytesOf(t, c.code), 0x10000, 0, out[:])
		if n != len(c.want) {
			t.Errorf("%s: %d instructions", c.name, n)
			continue
		}
		for i, want := range c.want {
			if got := show(&out[i]); got != want {
				t.Errorf("%s: instruction %d is %s, want %s", c.name, i, got, want)
			}
		}
	}
}

// TestPopRetEnds: cm.popret ends the flow although the PC is not in its list.
func TestPopRetEnds(t *testing.T) {
	if in := decodeAt(rv32zc, []byte{0x42, 0xbe}, 0); !in.Ends(PC) {
		t.Error("cm.popret goes on")
	}
	if in := decodeAt(rv32zc, []byte{0x42, 0xba}, 0); in.Ends(PC) {
		t.Error("cm.pop does not go on")
	}
}
