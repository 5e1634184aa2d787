package arm

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// listing is code as a disassembler shows it, beside what it does.
type listing []struct{ code, text, effect string }

// assemble returns the bytes, with the halfwords or words little-endian.
func (l listing) assemble(t testing.TB) []byte {
	var code []byte
	for _, line := range l {
		for _, unit := range strings.Fields(line.code) {
			b, err := hex.DecodeString(unit)
			if err != nil {
				t.Fatal(err)
			}
			for i := len(b) - 1; i >= 0; i-- {
				code = append(code, b[i])
			}
		}
	}
	return code
}

func (l listing) check(t *testing.T, d decoder, mode cpu.Mode) {
	t.Helper()
	out := make([]cpu.Insn, len(l)+1)
	if n := d.Decode(l.assemble(t), 0x8000, mode, out); n != len(l) {
		t.Fatalf("%d instructions, want %d", n, len(l))
	}
	for i, line := range l {
		if got := format(&out[i]); got != line.effect {
			t.Errorf("%s  %s\n got %s\nwant %s", line.code, line.text, got, line.effect)
		}
	}
}

// TestA32 starts at 0x8000, as all the listings.
func TestA32(t *testing.T) {
	listing{
		{"e92d4010", "push {r4, lr}", "storem base=sp {r4,lr} imm=-8 wb=-8 size=4 frame"},
		{"e92dd800", "push {fp, ip, lr, pc}", "storem base=sp {r11,r12,lr,pc} imm=-16 wb=-16 size=4 frame"},
		{"e52de004", "push {lr}", "store src=lr base=sp imm=-4 wb=-4 size=4 frame"},
		{"e49df004", "pop {pc}", "load dst=pc base=sp wb=4 size=4 ret frame"},
		{"e49df014", "ldr pc, [sp], #20", "load dst=pc base=sp wb=20 size=4 ret"},
		{"e8bd8030", "pop {r4, r5, pc}", "loadm base=sp {r4,r5,pc} wb=12 size=4 ret frame"},
		{"e91ba810", "ldmdb fp, {r4, fp, sp, pc}", "loadm base=r11 {r4,r11,sp,pc} imm=-16 size=4 ret"},
		{"e9900006", "ldmib r0, {r1, r2}", "loadm base=r0 {r1,r2} imm=4 size=4"},
		{"e8200006", "stmda r0!, {r1, r2}", "storem base=r0 {r1,r2} imm=-4 wb=-8 size=4"},
		{"e8300006", "ldmda r0!, {r1, r2}", "loadm base=r0 {r1,r2} imm=-4 wb=-8 size=4"},
		{"e24cb004", "sub fp, ip, #4", "addimm dst=r11 src=r12 imm=-4"},
		{"e1a0c00d", "mov ip, sp", "move dst=r12 src=sp"},
		{"e301c234", "movw ip, #4660", "const dst=r12 imm=4660"},
		{"e345c678", "movt ip, #22136", "insert dst=r12 scale=16 imm=22136"},
		{"e04dd00c", "sub sp, sp, ip", "sub dst=sp src=sp src2=r12"},
		{"e3cdd007", "bic sp, sp, #7", "andimm dst=sp src=sp imm=-8"},
		{"e7c2d01f", "bfc sp, #0, #3", "andimm dst=sp src=sp imm=-8"},
		{"e3cdd00f", "bic sp, sp, #15", "andimm dst=sp src=sp imm=-16"},
		{"e1a0f00e", "mov pc, lr", "return src=lr"},
		{"01a0f00e", "moveq pc, lr", "return src=lr cond"},
		{"112fff1e", "bxne lr", "return src=lr cond"},
		{"e12fff13", "bx r3", "jump src=r3"},
		{"112fff13", "bxne r3", "jump src=r3 cond"},
		{"e12fff33", "blx r3", "call dst=lr src=r3"},
		{"908ff103", "addls pc, pc, r3, lsl #2", "jump index=r3 scale=2 ->0x8068:0 cond table"},
		{"979ff103", "ldrls pc, [pc, r3, lsl #2]", "load dst=pc index=r3 scale=2 imm=32876 size=4 cond"},
		{"e3530009", "cmp r3, #9", "cmpimm src=r3 imm=9"},
		{"e25ef004", "subs pc, lr, #4", "return src=lr exception"},
		{"e1b0f00e", "movs pc, lr", "return src=lr exception"},
		{"e8fd9fff", "ldm sp!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, sl, fp, ip, pc}^", "loadm base=sp {r0,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10,r11,r12,pc} wb=56 size=4 ret exception frame"},
		{"e8dd7fff", "ldm sp, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, sl, fp, ip, sp, lr}^", "loadm base=sp {r0,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10,r11,r12} size=4"},
		{"f8bd0a00", "rfeia sp!", "load dst=pc base=sp wb=8 size=4 ret exception"},
		{"f96d0513", "srsdb sp!, #19", "nop"},
		{"ef000000", "svc 0x00000000", "syscall {r0,r1,r2,r3}"},
		{"e7ffdefe", "udf #65006", "trap"},
		{"e1200071", "bkpt 0x0001", "trap"},
		{"ed2d8b10", "vpush {d8-d15}", "addimm dst=sp src=sp imm=-64 frame"},
		{"ecbd8b04", "vpop {d8-d9}", "addimm dst=sp src=sp imm=16 frame"},
		{"ec510b10", "vmov r0, r1, d0", "clobber {r0,r1}"},
		{"ee103a90", "vmov r3, s1", "clobber {r3}"},
		{"eef12a10", "vmrs r2, fpscr", "clobber {r2}"},
		{"eef1fa10", "vmrs APSR_nzcv, fpscr", "nop"},
		{"e1cd40d8", "ldrd r4, [sp, #8]", "load dst=r4 dst2=r5 base=sp imm=8 size=4"},
		{"e16d61f0", "strd r6, [sp, #-16]!", "store src=r6 src2=r7 base=sp imm=-16 wb=-16 size=4"},
		{"e08f3003", "add r3, pc, r3", "addimm dst=r3 src=r3 imm=32952 address"},
		{"e28f0008", "add r0, pc, #8", "const dst=r0 imm=32964 address"},
		{"e59f1008", "ldr r1, [pc, #8]", "load dst=r1 imm=32968 size=4"},
		{"e51ff004", "ldr pc, [pc, #-4]", "load dst=pc imm=32960 size=4"},
		{"f421020d", "vld1.8 {d0-d3}, [r1]!", "addimm dst=r1 src=r1 imm=32"},
		{"e320f000", "nop {0}", "nop padding"},
		{"e1a00000", "nop", "nop padding"},
		{"ee1d3f70", "mrc 15, 0, r3, cr13, cr0, {3}", "clobber {r3}"},
		{"e0810392", "umull r0, r1, r2, r3", "clobber {r0,r1}"},
		{"e1901f9f", "ldrex r1, [r0]", "load dst=r1 base=r0 size=4"},
		{"e1802f91", "strex r2, r1, [r0]", "clobber {r2}"},
		{"eb00000e", "bl 811c", "call dst=lr ->0x811c:0"},
		{"fa00000e", "blx 8120", "call dst=lr ->0x8120:1"},
		{"eafffffc", "b 80dc", "jump ->0x80dc:0"},
		{"0b000000", "bleq 80f0", "call dst=lr ->0x80f0:0 cond"},
		{"e5b3f008", "ldr pc, [r3, #8]!", "load dst=pc base=r3 imm=8 wb=8 size=4"},
		{"f1020013", "cps #19", "clobber {sp,lr}"},
		{"e1a010a6", "lsr r1, r6, #1", "shrimm dst=r1 src=r6 imm=1"},
		{"e1a01026", "lsr r1, r6, #32", "clobber {r1}"},
		{"e1a010c6", "asr r1, r6, #1", "clobber {r1}"},
	}.check(t, decoder{}, 0)
}

// TestOldCall: before BLX (register) a call through a register was two
// instructions, the first of which puts the address behind the second into LR.
func TestOldCall(t *testing.T) {
	listing{
		{"e1a0e00f", "mov lr, pc", "const dst=lr imm=32776 address"},
		{"e12fff13", "bx r3", "call dst=lr src=r3"},
		{"e1a0e00f", "mov lr, pc", "const dst=lr imm=32784 address"},
		{"e593f010", "ldr pc, [r3, #16]", "call dst=lr base=r3 imm=16 size=4 memory"},
		{"01a0e00f", "moveq lr, pc", "const dst=lr imm=32792 cond address"},
		{"01a0f003", "moveq pc, r3", "call dst=lr src=r3 cond"},
		{"e1a0e00f", "mov lr, pc", "const dst=lr imm=32800 address"},
		{"e243f01f", "sub pc, r3, #31", "call dst=lr src=pc"},
		{"e1a0e00f", "mov lr, pc", "const dst=lr imm=32808 address"},
		{"03a00000", "moveq r0, #0", "const dst=r0 cond"},
		{"e12fff13", "bx r3", "jump src=r3"},
	}.check(t, decoder{}, 0)
}

// TestA32PC has the other ways to write the PC.
func TestA32PC(t *testing.T) {
	listing{
		{"e28ff004", "add pc, pc, #4", "jump ->0x800c:0"},
		{"e080f001", "add pc, r0, r1", "jump base=r0 index=r1 table"},
		{"e28ef008", "add pc, lr, #8", "jump index=lr ->0x8:0 table"},
		{"e3cef003", "bic pc, lr, #3", "return src=lr"},
		{"e181f002", "orr pc, r1, r2", "jump src=pc"},
		{"e12fff1f", "bx pc", "jump ->0x801c:0"},
		{"e7fff03f", "undefined", "unknown"},
		{"ebffffff", "bl .+4", "call dst=lr ->0x8020:0"},
		{"e08cf00f", "add pc, ip, pc", "jump src=r12 imm=32808"},
		{"e08ff00f", "add pc, pc, pc", "jump src=pc"},
		{"e08cf10f", "add pc, ip, pc, lsl #2", "jump src=pc"},
	}.check(t, decoder{}, 0)
}

// TestT32 is the M profile, for it has the most.
func TestT32(t *testing.T) {
	listing{
		{"b598", "push {r3, r4, r7, lr}", "storem base=sp {r3,r4,r7,lr} imm=-16 wb=-16 size=4 frame"},
		{"e92d 4130", "stmdb sp!, {r4, r5, r8, lr}", "storem base=sp {r4,r5,r8,lr} imm=-16 wb=-16 size=4 frame"},
		{"f84d 8d04", "str.w r8, [sp, #-4]!", "store src=r8 base=sp imm=-4 wb=-4 size=4 frame"},
		{"bd10", "pop {r4, pc}", "loadm base=sp {r4,pc} wb=8 size=4 ret frame"},
		{"e8bd 8110", "ldmia.w sp!, {r4, r8, pc}", "loadm base=sp {r4,r8,pc} wb=12 size=4 ret frame"},
		{"f85d fb08", "ldr.w pc, [sp], #8", "load dst=pc base=sp wb=8 size=4 ret"},
		{"f85d eb04", "ldr.w lr, [sp], #4", "load dst=lr base=sp wb=4 size=4 frame"},
		{"b086", "sub sp, #24", "addimm dst=sp src=sp imm=-24"},
		{"f5ad 6d80", "sub.w sp, sp, #1024", "addimm dst=sp src=sp imm=-1024"},
		{"f6ad 0d04", "subw sp, sp, #2052", "addimm dst=sp src=sp imm=-2052"},
		{"af02", "add r7, sp, #8", "addimm dst=r7 src=sp imm=8"},
		{"466f", "mov r7, sp", "move dst=r7 src=sp"},
		{"46bd", "mov sp, r7", "move dst=sp src=r7"},
		{"44a5", "add sp, r4", "add dst=sp src=sp src2=r4"},
		{"f241 2434", "movw r4, #4660", "const dst=r4 imm=4660"},
		{"f2c0 0401", "movt r4, #1", "insert dst=r4 scale=16 imm=1"},
		{"bf08", "it eq", "nop"},
		{"4770", "bxeq lr", "return src=lr cond"},
		{"bf14", "ite ne", "nop"},
		{"bd10", "popne {r4, pc}", "loadm base=sp {r4,pc} wb=8 size=4 cond ret frame"},
		{"2001", "moveq r0, #1", "const dst=r0 imm=1 cond"},
		{"b140", "cbz r0, 8050", "jump ->0x8050:1 cond"},
		{"e8df f000", "tbb [pc, r0]", "jump index=r0 imm=32834 size=1 ->0x8042:1 table"},
		{"e8df f011", "tbh [pc, r1, lsl #1]", "jump index=r1 scale=1 imm=32838 size=2 ->0x8046:1 table"},
		{"4770", "bx lr", "return src=lr"},
		{"4778", "bx pc", "jump ->0x804c:0"},
		{"bf00", "nop", "nop padding"},
		{"4718", "bx r3", "jump src=r3"},
		{"4798", "blx r3", "call dst=lr src=r3"},
		{"f7ff ffd6", "bl 8000", "call dst=lr ->0x8000:1"},
		{"f7ff bfd4", "b.w 8000", "jump ->0x8000:1"},
		{"f43f afd2", "beq.w 8000", "jump imm=1 ->0x8000:1 cond"},
		{"a003", "add r0, pc, #12", "const dst=r0 imm=32876 address"},
		{"4902", "ldr r1, [pc, #8]", "load dst=r1 imm=32872 size=4"},
		{"f85f 1008", "ldr.w r1, [pc, #-8]", "load dst=r1 imm=32860 size=4"},
		{"4479", "add r1, pc", "addimm dst=r1 src=r1 imm=32872 address"},
		{"4679", "mov r1, pc", "const dst=r1 imm=32874 address"},
		{"46f7", "mov pc, lr", "return src=lr"},
		{"e9dd 4504", "ldrd r4, r5, [sp, #16]", "load dst=r4 dst2=r5 base=sp imm=16 size=4"},
		{"e96d 4502", "strd r4, r5, [sp, #-8]!", "store src=r4 src2=r5 base=sp imm=-8 wb=-8 size=4"},
		{"e92d 0030", "stmdb sp!, {r4, r5}", "storem base=sp {r4,r5} imm=-8 wb=-8 size=4 frame"},
		{"e8bd 0030", "ldmia.w sp!, {r4, r5}", "loadm base=sp {r4,r5} wb=8 size=4 frame"},
		{"cb18", "ldmia r3, {r3, r4}", "loadm base=r3 {r3,r4} size=4"},
		{"cb06", "ldmia r3!, {r1, r2}", "loadm base=r3 {r1,r2} wb=8 size=4"},
		{"ed2d 8b04", "vpush {d8-d9}", "addimm dst=sp src=sp imm=-16 frame"},
		{"beab", "bkpt 0x00ab", "syscall {r0,r1,r2,r3} imm=171"},
		{"be00", "bkpt 0x0000", "trap"},
		{"de00", "udf #0", "trap"},
		{"f7f0 a000", "udf.w #0", "trap"},
		{"df03", "svc 3", "syscall {r0,r1,r2,r3} imm=3"},
		{"e97f e97f", "sg", "nop entry"},
		{"4774", "bxns lr", "return src=lr"},
		{"479c", "blxns r3", "call dst=lr src=r3"},
		{"f3af 801d", "pac r12, lr, sp", "clobber {r12}"},
		{"f3af 800d", "pacbti r12, lr, sp", "clobber {r12} entry"},
		{"f3af 800f", "bti", "nop entry"},
		{"f3af 802d", "aut r12, lr, sp", "nop"},
		{"e89f 9003", "clrm {r0, r1, ip, APSR}", "clobber {r0,r1,r12}"},
		{"f042 e001", "dls lr, r2", "move dst=lr src=r2"},
		{"b672", "cpsid i", "nop"},
		{"f380 8810", "msr PRIMASK, r0", "nop"},
		{"f3ef 8010", "mrs r0, PRIMASK", "clobber {r0}"},
		{"f3af 8000", "nop.w", "nop padding"},
		{"46c0", "nop", "nop padding"},
		{"0088", "lsls r0, r1, #2", "shlimm dst=r0 src=r1 imm=2"},
		{"0888", "lsrs r0, r1, #2", "shrimm dst=r0 src=r1 imm=2"},
		{"1088", "asrs r0, r1, #2", "clobber {r0}"},
		{"b2c8", "uxtb r0, r1", "andimm dst=r0 src=r1 imm=255"},
		{"2b09", "cmp r3, #9", "cmpimm src=r3 imm=9"},
		{"f5b3 7f96", "cmp.w r3, #300", "cmpimm src=r3 imm=300"},
		{"f041 0001", "orr.w r0, r1, #1", "orimm dst=r0 src=r1 imm=1"},
		{"f3c1 0003", "ubfx r0, r1, #0, #4", "andimm dst=r0 src=r1 imm=15"},
	}.check(t, decoder{micro: true}, 1)
}

// TestConditions: a branch tells whether equality alone decides.
func TestConditions(t *testing.T) {
	listing{
		{"0afffffe", "beq 8000", "jump imm=1 ->0x8000:0 cond"},
		{"1afffffe", "bne 8004", "jump imm=1 ->0x8004:0 cond"},
		{"2afffffe", "bcs 8008", "jump ->0x8008:0 cond"},
		{"8afffffe", "bhi 800c", "jump ->0x800c:0 cond"},
		{"eafffffe", "b 8010", "jump ->0x8010:0"},
	}.check(t, decoder{}, 0)
	listing{
		{"d0fe", "beq 8000", "jump imm=1 ->0x8000:1 cond"},
		{"d1fe", "bne 8002", "jump imm=1 ->0x8002:1 cond"},
		{"d8fe", "bhi 8004", "jump ->0x8004:1 cond"},
		{"f47f affe", "bne.w 8006", "jump imm=1 ->0x8006:1 cond"},
		{"f63f affe", "bhi.w 800a", "jump ->0x800a:1 cond"},
	}.check(t, decoder{}, 1)
}

// TestMainStack: writing MSP moves the stack of who runs on it (FreeRTOS does so
// before its first task); PSP is another register in a handler.
func TestMainStack(t *testing.T) {
	listing{
		{"f380 8808", "msr MSP, r0", "clobber {sp}"},
		{"f380 8809", "msr PSP, r0", "nop"},
	}.check(t, decoder{micro: true}, 1)
}

// TestSequences: a jump behind the address that it returns to is a call, and what is loaded behind a switch of
// the mode is that mode's stack pointer.
func TestSequences(t *testing.T) {
	listing{
		{"f20f 0e05", "addw lr, pc, #5", "const dst=lr imm=32777 address"},
		{"46af", "mov pc, r5", "jump src=r5"}, // returns to where it is
		{"bf00", "nop", "nop padding"},
		{"f20f 0e03", "addw lr, pc, #3", "const dst=lr imm=32783 address"},
		{"46af", "mov pc, r5", "call dst=lr src=r5"},
		{"f383 8100", "msr CPSR_c, r3", "nop"},
		{"f8d2 d034", "ldr.w sp, [r2, #52]", "nop"},
		{"f8d2 d034", "ldr.w sp, [r2, #52]", "load dst=sp base=r2 imm=52 size=4"},
		{"f3de 8f00", "subs pc, lr, #0", "return src=lr exception"},
	}.check(t, decoder{}, 1)
}

// TestITBlock: the T and E of the mnemonic count, and AL is no condition.
func TestITBlock(t *testing.T) {
	listing{
		{"bf0d", "iteet eq", "nop"},
		{"2001", "moveq r0, #1", "const dst=r0 imm=1 cond"},
		{"2002", "movne r0, #2", "const dst=r0 imm=2 cond"},
		{"2003", "movne r0, #3", "const dst=r0 imm=3 cond"},
		{"bd10", "popeq {r4, pc}", "loadm base=sp {r4,pc} wb=8 size=4 cond ret frame"},
		{"bfe8", "it al", "nop"},
		{"4770", "bx lr", "return src=lr"},
	}.check(t, decoder{}, 1)
}

// TestBroken: what is not whole is left, and an instruction never reaches into
// the next.
func TestBroken(t *testing.T) {
	var out [4]cpu.Insn
	for _, c := range []struct {
		mode cpu.Mode
		size int
		want int
	}{{0, 3, 0}, {0, 7, 1}, {1, 1, 0}, {1, 2, 0}, {1, 5, 1}} {
		code := []byte{0xad, 0xf5, 0x80, 0x6d, 0xad, 0xf5, 0x80, 0x6d}[:c.size]
		if n := (decoder{}).Decode(code, 0, c.mode, out[:]); n != c.want {
			t.Errorf("mode %d, %d bytes: %d instructions, want %d", c.mode, c.size, n, c.want)
		}
	}
}
