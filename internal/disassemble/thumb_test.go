package disassemble_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/internal/disassemble"
)

// TestThumb: instructions of T32 at 0x10000 as binutils' objdump writes them, but for numbers in
// registers' names and offsets of zero. Words of 32 bits have their first halfword above.
func TestThumb(t *testing.T) {
	arch := archNamed(t, "arm", "", false)
	for _, tt := range []struct {
		word uint32
		want string
	}{
		{0xb508, "push {r3, lr}"}, {0xbd08, "pop {r3, pc}"}, {0x681b, "ldr r3, [r3]"}, {0x6043, "str r3, [r0, #4]"},
		{0x4b02, "ldr r3, [pc, #8]"}, {0x4770, "bx lr"}, {0x4798, "blx r3"}, {0x4604, "mov r4, r0"}, {0x46da, "mov r10, r11"},
		{0x0011, "movs r1, r2"}, {0x0852, "lsrs r2, r2, #1"}, {0x0812, "lsrs r2, r2, #32"}, {0x1c58, "adds r0, r3, #1"}, {0x4240, "negs r0, r0"},
		{0xb08b, "sub sp, #44"}, {0xc803, "ldmia r0, {r0, r1}"}, {0xc003, "stmia r0!, {r0, r1}"},
		{0xb123, "cbz r3, 0x1000c"}, {0xd0fe, "beq.n 0x10000"}, {0xe7fe, "b.n 0x10000"}, {0xbe01, "bkpt 0x0001"}, {0xdf2a, "svc 42"}, {0xb672, "cpsid i"},

		{0xf7fffffe, "bl 0x10000"}, {0xf7ffeffe, "blx 0x10000"}, {0xf0008001, "beq.w 0x10006"}, {0xf7ffbffe, "b.w 0x10000"},
		{0xe92d4ff0, "stmdb sp!, {r4, r5, r6, r7, r8, r9, r10, r11, lr}"}, {0xe8bd8ff0, "ldmia.w sp!, {r4, r5, r6, r7, r8, r9, r10, r11, pc}"},
		{0xf85d4b04, "ldr.w r4, [sp], #4"}, {0xf84d7d04, "str.w r7, [sp, #-4]!"}, {0xf8538c40, "ldr.w r8, [r3, #-64]"}, {0xf8dc3000, "ldr.w r3, [r12]"},
		{0xf8523021, "ldr.w r3, [r2, r1, lsl #2]"}, {0xf8dfa018, "ldr.w r10, [pc, #24]"}, {0xf8327b14, "ldrh.w r7, [r2], #20"}, {0xf893f010, "pld [r3, #16]"},
		{0xe9d70107, "ldrd r0, r1, [r7, #28]"}, {0xe9cd0c01, "strd r0, r12, [sp, #4]"}, {0xe8dff003, "tbb [pc, r3]"}, {0xe8dff013, "tbh [pc, r3, lsl #1]"},
		{0xeb000040, "add.w r0, r0, r0, lsl #1"}, {0xea4f4812, "lsr.w r8, r2, #16"}, {0xea4f0c3c, "rrx r12, r12"}, {0xebb00f21, "cmp.w r0, r1, asr #32"},
		{0xf5a36ca0, "sub.w r12, r3, #1280"}, {0xf06f4c00, "mvn.w r12, #2147483648"}, {0xf04f33ff, "mov.w r3, #4294967295"}, {0xf24c12de, "movw r2, #49630"}, {0xf2c00c0f, "movt r12, #15"},
		{0xf3c03245, "ubfx r2, r0, #13, #6"}, {0xf36f030e, "bfc r3, #0, #15"}, {0xf382030f, "usat r3, #15, r2"},
		{0xfb00f101, "mul.w r1, r0, r1"}, {0xfb9cf1f3, "sdiv r1, r12, r3"}, {0xfba42304, "umull r2, r3, r4, r4"}, {0xfa1ff38c, "uxth.w r3, r12"}, {0xfab0f08c, "clz r0, r12"},
		{0xf3bf8f5b, "dmb ish"}, {0xf3ef8009, "mrs r0, psp"}, {0xf3808808, "msr msp, r0"}, {0xee1d0f70, "mrc 15, 0, r0, cr13, cr0, {3}"},
		{0xed2d8b06, "vpush {d8-d10}"}, {0xecbd8b02, "vpop {d8}"}, {0xed9f7a02, "vldr s14, [pc, #8]"}, {0xee377a27, "vadd.f32 s14, s14, s15"},
		{0xf921020d, "vld1.8 {d0-d3}, [r1]!"}, {0xf960028d, "vld1.32 {d16-d19}, [r0]!"}, {0xf9e4000f, "vld1.8 {d16[0]}, [r4]"},
		{0xef221152, ""}, // vand, a vector's
	} {
		var code []byte
		if tt.word>>16 != 0 {
			code = binary.LittleEndian.AppendUint16(code, uint16(tt.word>>16))
		}
		code = binary.LittleEndian.AppendUint16(code, uint16(tt.word))
		if got := disassemble.Text(arch, code, 0x10000, 1); got != tt.want {
			t.Errorf("%#x: %q, want %q", tt.word, got, tt.want)
		}
	}
}

// TestITBlock: IT's followers have its conditions, and leave the flags alone; behind the
// block that ends.
func TestITBlock(t *testing.T) {
	arch := archNamed(t, "arm", "", false)
	var printer disassemble.Printer
	for _, tt := range []struct {
		code []byte
		want string
	}{
		{[]byte{0x06, 0xbf}, "itte eq"},
		{[]byte{0x01, 0x20}, "moveq r0, #1"},
		{[]byte{0x4f, 0xf0, 0x00, 0x01}, "moveq.w r1, #0"},
		{[]byte{0x1b, 0x68}, "ldrne r3, [r3]"},
		{[]byte{0x01, 0x20}, "movs r0, #1"},
		{[]byte{0x08, 0xbf}, "it eq"},
		{[]byte{0x22, 0xef, 0x52, 0x11}, ""}, // vand, a vector's
		{[]byte{0xb8, 0xbf}, "it lt"},
		{[]byte{0x70, 0x47}, "bxlt lr"},
		{[]byte{0x00, 0xd0}, "beq.n 0x10004"},
	} {
		if got := printer.Next(arch, tt.code, 0x10000, 1); got != tt.want {
			t.Errorf("% x: %q, want %q", tt.code, got, tt.want)
		}
	}
}
