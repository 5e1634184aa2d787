package heights

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// header is that of an image with nothing but code at 0x1000.
func header(a *cpu.Arch, code []byte) image.Header {
	seg := image.Segment{Addr: 0x1000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}
	return image.Header{Path: "program", Arch: a, Segments: []image.Segment{seg}}
}

func of(h image.Header, s *symbols) *Tables {
	c := disasm.Of(image.New(h, s))
	return New(c, discover.New(c, nil))
}

// program are the tables of an image with nothing but code at 0x1000.
func program(a *cpu.Arch, code []byte, s *symbols) *Tables { return of(header(a, code), s) }

// sound tells what is wrong with a table, if anything: its rows and its code are in
// order of address and begin at the entry, and all that rows name exists.
func sound(table *Table, size int) string {
	switch {
	case len(table.Rows) == 0 || table.Rows[0].At != 0:
		return "the entry has no row"
	case !slices.IsSortedFunc(table.Rows, func(a, b Row) int { return int(a.At) - int(b.At) }):
		return "rows are out of order"
	case len(table.Rows) > 4*maxInsns:
		return "more rows than instructions"
	case len(table.Code) > 0 && table.End() > table.Entry+uint64(size):
		return "code behind the end of the image"
	}
	end := uint32(0)
	for i, r := range table.Code {
		if r.Start >= r.End || i > 0 && r.Start <= end {
			return "code is out of order"
		}
		end = r.End
	}
	for _, r := range table.Rows {
		if int(r.Heights) >= len(table.Frames) {
			return "a row names no frame"
		}
	}
	return ""
}

// FuzzTables takes random bytes for the code of every processor.
func FuzzTables(f *testing.F) {
	archs := slices.Concat(x86.Archs(), arm.Archs(), arm64.Archs(), mips.Archs(), riscv.Archs())
	for i := range archs {
		f.Add(uint8(i), uint8(0), []byte{0x53, 0x48, 0x83, 0xec, 0x20, 0x74, 4, 0xe8, 0, 0, 0, 0, 0xff, 0xe0, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3})
		f.Add(uint8(i), uint8(1), []byte{0x10, 0xb5, 0x04, 0x46, 0x00, 0xf0, 0x02, 0xf8, 0x20, 0x46, 0x10, 0xbd})
	}
	f.Fuzz(func(t *testing.T, which, mode uint8, code []byte) {
		a := archs[int(which)%len(archs)]
		if mode &= 1; !a.ISABit {
			mode = 0
		}
		code = code[:min(len(code), 512)]
		fork := program(a, code, &symbols{}).Fork(func(uint64) bool { return true })
		for i := 0; i < len(code); i += int(a.InsnAlign) {
			entry := disasm.Addr{PC: 0x1000 + uint64(i), Mode: cpu.Mode(mode)}
			table := fork.Of(entry)
			if table == nil {
				continue
			}
			if wrong := sound(table, len(code)-i); wrong != "" {
				t.Fatalf("%s, %x: %s: %+v", a.Name, entry.PC, wrong, table)
			}
			for at := range len(code) - i {
				if f := table.At(entry.PC + uint64(at)); f != nil && f.Kept&f.Saved != 0 {
					t.Fatalf("%s, %x: registers in two places: %+v", a.Name, entry.PC, f)
				}
			}
		}
	})
}

// TestBounds: programs made to cost much end at the bound for instructions.
func TestBounds(t *testing.T) {
	const n = 2 * maxInsns
	a := arch(t, "aarch64")
	for name, insn := range map[string]func(i int) uint32{
		"no end":            func(int) uint32 { return 0xd503201f },                                    // nop
		"pushes":            func(int) uint32 { return 0xf81f0ff3 },                                    // str x19,[sp,#-16]!
		"branches forward":  func(int) uint32 { return 0xb4000040 },                                    // cbz x0,.+8
		"branches to a lot": func(i int) uint32 { return 0xb4000000 | uint32(min(n-i-1, 1<<18-1))<<5 }, // cbz x0, the end
	} {
		code := make([]byte, 0, 4*n)
		for i := range n {
			code = binary.LittleEndian.AppendUint32(code, insn(i))
		}
		if table := program(a, code, &symbols{}).Of(at(0x1000)); table != nil {
			t.Errorf("%s: a table with %d rows", name, len(table.Rows))
		}
	}
}
