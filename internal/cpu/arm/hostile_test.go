package arm

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/backsight/backsight/cpu"
)

// checkBlock holds what every block must be, whatever the bytes.
func checkBlock(t *testing.T, d decoder, code []byte, mode cpu.Mode) {
	var out [64]cpu.Insn
	n := d.Decode(code, 0x8000, mode, out[:])
	at := 0
	for i := range out[:n] {
		in := &out[i]
		if in.Len != 4 && (mode == 0 || in.Len != 2) {
			t.Fatalf("% x: length %d", code[at:], in.Len)
		}
		at += int(in.Len)
		for _, r := range []cpu.Reg{in.Dst, in.Dst2, in.Src, in.Src2, in.Base, in.Index} {
			if r > PC && r != cpu.NoReg {
				t.Fatalf("%s: register %d", format(in), r)
			}
		}
		if in.Dst == PC && in.Op != cpu.OpLoad || in.Dst2 == PC {
			t.Fatalf("%s: writes the PC without a jump", format(in))
		}
		if in.List>>16 != 0 {
			t.Fatalf("%s: list %x", format(in), in.List)
		}
	}
	if at > len(code) {
		t.Fatalf("%d bytes of %d", at, len(code))
	}
	if n < len(out) && len(code)-at >= 4 {
		t.Fatalf("stopped at %d of %d", at, len(code))
	}
	d.CallBefore(code, 0x8000, mode)
	d.Calls(code, 0x8000, mode, nil)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x10, 0x40, 0x2d, 0xe9, 0x0f, 0xe0, 0xa0, 0xe1, 0x13, 0xff, 0x2f, 0xe1})
	f.Add([]byte{0x08, 0xbf, 0x70, 0x47, 0xdf, 0xe8, 0x00, 0xf0, 0xff, 0xff})
	f.Add([]byte{0x7f, 0xe9, 0x7f, 0xe9, 0x9f, 0xe8, 0x03, 0x90})
	f.Add([]byte{0x7f, 0x0a, 0x3f, 0x0d, 0x7f, 0xed, 0x7f, 0x0a}) // vldmdb pc!
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, d := range []decoder{{}, {micro: true}, {bigCode: true}} {
			checkBlock(t, d, code, 0)
			checkBlock(t, d, code, 1)
		}
	})
}

// TestBigEndianCode: BE32 fetches the same words the other way round.
func TestBigEndianCode(t *testing.T) {
	var out [2]cpu.Insn
	code := []byte{0xe9, 0x2d, 0x40, 0x10}
	if (decoder{bigCode: true}).Decode(code, 0, 0, out[:]); format(&out[0]) != "storem base=sp {r4,lr} imm=-8 wb=-8 size=4 frame" {
		t.Error(format(&out[0]))
	}
}

// TestSize pins what an instruction costs in a caller's buffer.
func TestSize(t *testing.T) {
	if s := unsafe.Sizeof(cpu.Insn{}); s > 56 {
		t.Errorf("%d bytes", s)
	}
}

func TestNoAllocation(t *testing.T) {
	code := make([]byte, 4096)
	rand.New(rand.NewSource(1)).Read(code)
	out := make([]cpu.Insn, 256)
	var d cpu.Decoder = decoder{}
	refs := make([]cpu.CallRef, 0, 2048)
	for mode := range cpu.Mode(2) {
		n := testing.AllocsPerRun(10, func() {
			d.Decode(code, 0, mode, out)
			d.CallBefore(code[:16], 16, mode)
			d.Calls(code, 0, mode, refs)
		})
		if n != 0 {
			t.Errorf("mode %d: %v allocations", mode, n)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	code := make([]byte, 1<<16)
	rand.New(rand.NewSource(1)).Read(code)
	refs := make([]cpu.CallRef, 0, 1<<14)
	for mode := range cpu.Mode(2) {
		b.Run([]string{"A32", "T32"}[mode], func(b *testing.B) {
			b.SetBytes(int64(len(code)))
			for b.Loop() {
				decoder{}.Calls(code, 0, mode, refs)
			}
		})
	}
}
