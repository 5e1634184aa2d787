package orc

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

const tablesAt = 0xffffffff82000000

// row is an entry of the tables.
type row struct {
	at           uint64
	sp, bp       int16
	spReg, bpReg byte
	last         byte // type and flags
}

// tables is a container with the two sections.
type tables struct{ ip, orc []byte }

func (t *tables) Section(name string) (image.Section, bool) {
	switch name {
	case ".orc_unwind_ip":
		return image.Section{Addr: tablesAt, Data: t.ip}, true
	case ".orc_unwind":
		return image.Section{Data: t.orc}, true
	}
	return image.Section{}, false
}
func (*tables) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (*tables) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (*tables) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (*tables) Close() error                                  { return nil }

func imageOf(rows []row) *image.Image {
	t := new(tables)
	for i, r := range rows {
		t.ip = binary.LittleEndian.AppendUint32(t.ip, uint32(r.at-tablesAt-4*uint64(i)))
		t.orc = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(t.orc, uint16(r.sp)), uint16(r.bp))
		t.orc = append(t.orc, r.spReg|r.bpReg<<4, r.last)
	}
	return image.New(image.Header{Arch: arch(), Segments: []image.Segment{{Addr: tablesAt - 0x1000000, Size: 0x1000000, Exec: true}}}, t)
}

func arch() *cpu.Arch {
	a, _ := cpu.Set(x86.Archs()).ByName("x86_64", "", false)
	return a
}

// TestRule: each kind of entry in the numbering of Linux 6.1, in that of 6.4, with other types, and in that of 7.2,
// with other registers. Tables of modules are not sorted.
func TestRule(t *testing.T) {
	const f = 0xffffffff81000000
	early := []row{ // unsorted: the second function first
		{f + 0x100, 8, 0, regSP, 0, 0}, {f + 0x110, 0, 0, regSP, 0, 1}, {f + 0x120, 0, 0, regSP, 0, 2}, {f + 0x130, 0, 0, regUndefined, 0, 8},
		{f + 0x140, 48, 0, regDI, 0, 0}, {f + 0x150, 8, 16, regBPIndirect, regBP, 0},
		{f, 8, 0, regSP, 0, 0}, {f + 1, 16, -16, regSP, regPrevSP, 0}, {f + 4, 16, -16, regBP, regPrevSP, 4}, {f + 8, 24, 0, regSPIndirect, 0, 0},
		{f + 0x200, 8, 0, regSP, 0, 0},
	}
	var late, moved []row
	for _, r := range early {
		n := r
		if n.last = r.last&3 + 2; r.spReg == regUndefined {
			n.last = 1
		}
		late = append(late, n)
		n.spReg, n.bpReg = number72(r.spReg), number72(r.bpReg)
		moved = append(moved, n)
	}
	for name, rows := range map[string][]row{"6.1": early, "6.4": late, "7.2": moved} {
		img := imageOf(rows)
		for pc, want := range map[uint64]string{
			f:         "CFA=rsp+8 RA=[CFA-8]",
			f + 2:     "CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16]",
			f + 6:     "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]",
			f + 9:     "CFA=[rsp+0]+24 RA=[CFA-8]",
			f + 0x110: "CFA=rsp+168 RA=[CFA-40] rsp=[CFA-16] r15=[CFA-168] r14=[CFA-160]",
			f + 0x120: "CFA=rsp+40 RA=[CFA-40] rsp=[CFA-16]",
			f + 0x140: "CFA=rdi+48 RA=[CFA-8]",
			f + 0x150: "CFA=[rbp+8] RA=[CFA-8] rbp=[rbp+16]",
		} {
			var out stackwalk.Rule
			v := Source{}.Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}, &out)
			if got := out.Format(img.Arch); v != unwind.Found || len(got) < len(want) || got[:len(want)] != want {
				t.Errorf("%s: %#x: %s (%s), want %s", name, pc, got, v, want)
			}
		}
		for pc, want := range map[uint64]unwind.Verdict{f + 0x131: unwind.EndOfStack, f - 1: unwind.NotCovered, f + 0x200: unwind.NotCovered} {
			if v := (Source{}).Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}, new(stackwalk.Rule)); v != want {
				t.Errorf("%s: %#x: %s, want %s", name, pc, v, want)
			}
		}
	}
}

// number72 is the number of a register in Linux 7.2 (arch/x86/include/asm/orc_types.h).
func number72(reg byte) byte {
	return map[byte]byte{regDX: 2, regSP: 3, regBP: 4, regDI: 5, regR10: 6, regR13: 7, regPrevSP: 8, regSPIndirect: 9, regBPIndirect: 10}[reg]
}

// TestUnknownRegister: a number that the kernel does not give to a register is none.
func TestUnknownRegister(t *testing.T) {
	const f = 0xffffffff81000000
	for name, c := range map[string]struct {
		sp   byte
		bad  []byte
		good byte
	}{
		"6.4": {regSP, []byte{10, 11, 15}, regDI},
		"7.2": {3, []byte{11, 15}, 1},
	} {
		for _, number := range append(c.bad, c.good) {
			img := imageOf([]row{{f, 8, 0, c.sp, 0, 2}, {f + 1, 16, 0, c.sp, 0, 2}, {f + 2, 8, 0, number, 0, 2}, {f + 9, 0, 0, 0, 0, 1}})
			v := Source{}.Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: f + 3}, new(stackwalk.Rule))
			if got := v == unwind.Found; got != (number == c.good) {
				t.Errorf("%s: %d: %s", name, number, v)
			}
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0}, []byte{8, 0, 0, 0, 5, 0}, uint64(tablesAt))
	f.Fuzz(func(t *testing.T, ip, orc []byte, pc uint64) {
		img := image.New(image.Header{Arch: arch()}, &tables{ip, orc})
		Source{}.Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}, new(stackwalk.Rule))
	})
}
