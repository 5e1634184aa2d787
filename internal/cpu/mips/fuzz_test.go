package mips

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

// FuzzDecode holds every decoder to its contract on any bytes: whole instructions
// only, progress, registers that exist, addresses within the mask.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x27, 0xbd, 0xff, 0xe0, 0xaf, 0xbf, 0x00, 0x1c}, uint64(0x400000))
	f.Add([]byte{0xf7, 0x2b, 0x64, 0xf4, 0x1a, 0x00, 0x05, 0x49, 0xf0}, uint64(0xfffffffe))
	f.Add([]byte{0x22, 0x7d, 0x50, 0x08, 0x47, 0x04}, ^uint64(1))
	archs := Archs()
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		for _, a := range archs {
			for mode := cpu.Mode(0); mode <= 1; mode++ {
				fuzzDecoder(t, a, mode, code, pc)
			}
		}
	})
}

func fuzzDecoder(t *testing.T, a *cpu.Arch, mode cpu.Mode, code []byte, pc uint64) {
	var out [16]cpu.Insn
	n := a.Decoder.Decode(code, pc, mode, out[:])
	length := 0
	for k := range out[:n] {
		i := &out[k]
		if i.Len == 0 || i.Target&^a.AddrMask() != 0 {
			t.Fatalf("%x: %s of %d bytes", code[length:], format(i), i.Len)
		}
		for _, r := range [...]cpu.Reg{i.Dst, i.Dst2, i.Src, i.Src2, i.Base, i.Index} {
			if r != cpu.NoReg && int(r) >= len(a.Regs) {
				t.Fatalf("%x: register %d", code[length:], r)
			}
		}
		if (i.List | cpu.SetOf(i.Dst, i.Dst2)).Has(Zero) || i.List>>len(a.Regs) != 0 {
			t.Fatalf("%x: %s writes a register that cannot be written", code[length:], format(i))
		}
		length += int(i.Len)
	}
	if length > len(code) {
		t.Fatalf("%d bytes of %d", length, len(code))
	}
	if n < len(out) && len(code)-length >= 4 {
		t.Fatalf("stopped with %d bytes left", len(code)-length)
	}
	if s, ok := a.Decoder.CallBefore(code, pc, mode); ok && s.Direct && s.Target&^a.AddrMask() != 0 {
		t.Fatalf("call target %#x", s.Target)
	}
	a.Decoder.Calls(code, pc, mode, nil)
}
