package kernellog

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/target"
)

// TestOwnRegisters: the instructions behind show_stack's PC tell which of the words that it prints of the stack are its
// registers.
func TestOwnRegisters(t *testing.T) {
	const text, sp32, sp64 = 0x80100000, 0x817e7c00, 0x9000000003883aa0
	o32 := []uint32{
		0x3c018010, 0x24210070, 0xafa100c4, // lui at,…; addiu at,at,…; sw at,196(sp)
		0xac420008, 0xac440010, 0xac5c0070, 0xac5f007c, // sw v0,8(v0); sw a0,16(v0); sw gp,112(v0); sw ra,124(v0)
		0x8c410004, 0xac450014, // lw at,4(v0); sw a1,20(v0)
	}
	n64 := []uint32{
		0x3c018010, 0x64210070, 0xffa10130, // sd at,304(sp)
		0xfc630018, 0xfc7c00e0, 0xfc7d00e8, 0xfc7f00f8, // sd v1,24(v1); sd gp,224(v1); sd sp,232(v1); sd ra,248(v1)
		0xdc610008, // ld at,8(v1)
	}
	before := []uint32{0x3c018010, 0x64210070, 0xffa10130, 0xffbd00f0, 0xffbf0100, 0x00000000} // sd sp,240(sp); sd ra,256(sp)
	words64 := map[int]uint64{4: sp64 + 8, 29: sp64 &^ 0x3fff, 30: sp64, 32: text + 0x50, 38: text + 0x70}
	for _, c := range []struct {
		what, abi string
		code      []uint32
		words     map[int]uint64
		want      string
	}{
		{"o32: gp and sp lie beyond the words", "o32", o32, map[int]uint64{14: sp32 + 48, 16: 7}, "v0=817e7c30 a0=7 sp=817e7c00 pc=80100070"},
		{"n64: ra is left over from a call that came back", "n64", n64, words64, "v1=9000000003883aa8 gp=9000000003880000 sp=9000000003883aa0 pc=80100070"},
		{"older kernels store sp and ra alone", "n64", before, words64, "sp=9000000003883aa0 pc=80100070"},
		{"ra says who called", "n64", n64, with(words64, 32, text+0x1000), "v1=9000000003883aa8 gp=9000000003880000 sp=9000000003883aa0 ra=80101000 pc=80100070"},
		{"another PC was stored", "n64", n64, with(words64, 38, text+0x90), ""},
		{"sp is not where v1 says", "n64", n64, with(words64, 30, sp64+16), ""},
		{"no registers are stored", "n64", nil, words64, ""},
	} {
		arch := littleMIPS(t, c.abi)
		data := make([]byte, 0x200)
		for i, w := range c.code {
			binary.LittleEndian.PutUint32(data[0x70+4*i:], w)
		}
		img := image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: text, Size: 0x200, Data: data, Exec: true}}}, nil)
		b := &binaries{arch: arch, machine: machineNamed(arch.Name), facts: &facts{}, kernel: &target.Module{Name: "vmlinux", Image: img, Range: target.Range{Lo: text, Hi: text + 0x200}}}
		var r record
		for i := range 40 {
			r.stack.words = append(r.stack.words, stackWord{c.words[i], c.words[i] != 0})
		}
		regs, ok := ownRegisters(&r, []target.Listed{{PC: text + 0x70, Exact: true, Symbol: "show_stack", Offset: 0x70, Size: 0x168}}, b)
		got := ""
		for set := regs.Known; ok && set != 0; set = set.Without(set.First()) {
			got += fmt.Sprintf(" %s=%x", arch.RegName(set.First()), regs.Val[set.First()])
		}
		if got != "" {
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// with is words with another at i.
func with(words map[int]uint64, i int, v uint64) map[int]uint64 {
	changed := map[int]uint64{i: v}
	for k, w := range words {
		if k != i {
			changed[k] = w
		}
	}
	return changed
}

func littleMIPS(t *testing.T, abi string) *cpu.Arch {
	for _, a := range mips.Archs() {
		if a.ABI == abi && !a.BigEndian {
			return a
		}
	}
	t.Fatal("no MIPS", abi)
	return nil
}
