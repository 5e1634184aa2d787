package arm64

import (
	"encoding/binary"
	"math/rand"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func assemble(words ...uint32) []byte {
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

func TestCallBefore(t *testing.T) {
	const ra = 0x10010
	const nop = 0xd503201f
	for _, c := range []struct {
		word uint32
		text string
		want cpu.CallSite
		ok   bool
	}{
		{0x94000040, "bl .+0x100", cpu.CallSite{Addr: 0x1000c, Target: 0x1010c, Direct: true}, true},
		{0xd63f0100, "blr x8", cpu.CallSite{Addr: 0x1000c}, true},
		{0xd73f0a11, "blraa x16, x17", cpu.CallSite{Addr: 0x1000c}, true},
		{0x94000001, "bl .+4, to the function that follows", cpu.CallSite{Addr: 0x1000c, Target: ra, Direct: true}, true},
		{0x14000040, "b .+0x100", cpu.CallSite{}, false},
		{0xd61f0100, "br x8", cpu.CallSite{}, false},
		{nop, "nop", cpu.CallSite{}, false},
	} {
		got, ok := decoder{}.CallBefore(assemble(nop, nop, nop, c.word), ra, 0)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v %v", c.text, got, ok)
		}
	}
	if _, ok := (decoder{}).CallBefore(assemble(0x94000040)[:3], ra, 0); ok {
		t.Error("call found in 3 bytes")
	}
	if _, ok := (decoder{}).CallBefore(assemble(0x94000040), ra+2, 0); ok {
		t.Error("call found before an unaligned address")
	}
}

func TestCalls(t *testing.T) {
	code := assemble(0x94000040, 0xd63f0100, 0x97ffffff, 0x14000040)
	refs := decoder{}.Calls(code, 0x10000, 0, nil)
	want := []cpu.CallRef{{Site: 0x10000, Target: 0x10100}, {Site: 0x10008, Target: 0x10004}}
	if len(refs) != len(want) || refs[0] != want[0] || refs[1] != want[1] {
		t.Errorf("got %+v, want %+v", refs, want)
	}
}

// FuzzDecode: every word decodes to something of 4 bytes, with registers that
// exist, and no Op leaves its register fields without need. PC stands for ELR where an
// instruction names that.
func FuzzDecode(f *testing.F) {
	f.Add(assemble(0xa9bc7bfd, 0x910003fd), uint64(0x10000))
	f.Add(assemble(0, 0xffffffff), ^uint64(0))
	f.Add(assemble(0xd69f03e0, 0xd5384036, 0xd5184036), uint64(0x10000)) // eret, mrs and msr of ELR_EL1
	f.Add([]byte{1, 2, 3}, uint64(0))
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		var out [16]cpu.Insn
		n := decoder{}.Decode(code, pc, 0, out[:])
		if want := min(16, len(code)/4); n != want {
			t.Fatalf("decoded %d of %d", n, want)
		}
		for i := range out[:n] {
			in := &out[i]
			if in.Len != 4 || in.List>>numRegs != 0 {
				t.Fatalf("%+v", in)
			}
			for _, r := range []cpu.Reg{in.Dst, in.Dst2, in.Src, in.Src2, in.Base, in.Index} {
				if r > SP && r != cpu.NoReg && !(r == PC && (in.Src == PC || in.Dst == PC)) {
					t.Fatalf("register %d in %+v", r, in)
				}
			}
		}
		decoder{}.CallBefore(code, pc, 0)
		decoder{}.Calls(code, pc, 0, nil)
	})
}

func TestDecodeAllocatesNothing(t *testing.T) {
	d, code, out := Archs()[0].Decoder, randomCode(1024), make([]cpu.Insn, 256)
	if n := testing.AllocsPerRun(10, func() { d.Decode(code, 0, 0, out) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(10, func() { d.CallBefore(code, 0x1000, 0) }); n != 0 {
		t.Errorf("CallBefore: %v allocations", n)
	}
}

func randomCode(size int) []byte {
	code := make([]byte, size)
	rand.New(rand.NewSource(1)).Read(code)
	return code
}
