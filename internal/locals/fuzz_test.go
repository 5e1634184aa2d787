package locals_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/locals"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// sections is a container of DWARF sections.
type sections map[string][]byte

func (s sections) Section(name string) (image.Section, bool) {
	data, ok := s[name]
	return image.Section{Name: name, Data: data}, ok
}
func (sections) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (sections) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (sections) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (sections) Close() error                                  { return nil }

// Where the code and the stack of the hand-made program lie.
const text, stack = 0x1000, 0x7000

// d is bytes being written.
type d []byte

func (w d) u8(v ...byte) d                 { return append(w, v...) }
func (w d) u32(v int) d                    { return binary.LittleEndian.AppendUint32(w, uint32(v)) }
func (w d) u64(v uint64) d                 { return binary.LittleEndian.AppendUint64(w, v) }
func (w d) text(s string) d                { return append(append(w, s...), 0) }
func (w d) named(code byte, name string) d { return w.u8(code).text(name) }

// handMade is a function at 0x1000 with an int, a pointer to a struct, an array, and what a list places.
func handMade() sections {
	abbrev := d{
		1, 0x11, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, // unit: name, low_pc, high_pc
		2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0x40, 0x18, 0, 0, // function: name, low_pc, high_pc, frame_base
		3, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0, // variable: name, type, location
		4, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0, // base type: name, size, encoding
		5, 0x0f, 0, 0x0b, 0x0b, 0x49, 0x13, 0, 0, // pointer: size, type
		6, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // structure: name, size
		7, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0, // member: name, type, place
		8, 0x01, 1, 0x49, 0x13, 0, 0, // array: type
		9, 0x21, 0, 0x2f, 0x0b, 0, 0, // range: upper bound
		10, 0x05, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x17, 0, 0, // argument: name, type, list
		0,
	}
	info := append(d{}.u32(0), 5, 0, 1, 8, 0, 0, 0, 0) // length, version, DW_UT_compile, address_size, abbreviations
	info = info.named(1, "main.c").u64(text).u32(0x100)
	number := len(info)
	info = info.named(4, "int").u8(4, 5)
	structure := len(info)
	info = info.named(6, "pair").u8(8).named(7, "x").u32(number).u8(0).named(7, "y").u32(number).u8(4).u8(0)
	pointer := len(info)
	info = info.u8(5, 8).u32(structure)
	array := len(info)
	info = info.u8(8).u32(number).u8(9, 3, 0)
	info = info.named(2, "work").u64(text).u32(0x40).u8(1, 0x56) // DW_OP_reg6
	for i, kind := range []int{number, pointer, structure, array} {
		info = info.named(3, "v").u32(kind).u8(2, 0x91, byte(8*i)) // DW_OP_fbreg
	}
	info = info.named(10, "a").u32(number).u32(12).u8(0, 0)
	binary.LittleEndian.PutUint32(info, uint32(len(info)-4))
	list := d{}.u32(0).u8(5, 0, 8, 0).u32(0).u8(7).u64(text).u64(text+0x40).u8(1, 0x50, 0) // DW_LLE_start_end, DW_OP_reg0
	return sections{".debug_abbrev": abbrev, ".debug_info": info, ".debug_loclists": list}
}

// readVariables reads those of a frame in the hand-made function.
func readVariables(t testing.TB, s sections) []report.Variable {
	arch, ok := cpu.Set(x86.Archs()).ByName("x86_64", "", false)
	if !ok {
		t.Fatal("no x86_64")
	}
	code := image.Segment{Addr: text, Size: 0x1000, Data: make([]byte, 0x1000), Read: true, Exec: true}
	m := &target.Module{Name: "main", Range: target.Range{Lo: text, Hi: text + 0x1000},
		Image: image.New(image.Header{Arch: arch, Segments: []image.Segment{code}}, s)}
	var b target.Builder
	b.Add(stack, d{}.u32(42).u32(0).u64(stack+0x20).u32(1).u32(2).u32(3).u32(4).u64(5).u64(6), 0, target.PermRead)
	var regs cpu.Registers
	for _, name := range []string{"rax", "rbx", "rbp", "rsp"} {
		if n, ok := arch.RegByName(name); ok {
			regs.Set(n, stack)
		}
	}
	p := locals.Place{Snapshot: &target.Snapshot{Arch: arch, Memory: b.Memory(arch)}, PC: text + 0x18, Registers: &regs,
		Frame: &report.Frame{Location: new(symbol.Location), Frame: &unwind.Frame{PC: text + 0x18, CallSite: text + 0x18, CFA: stack + 0x40, HasCFA: true, Module: m}}}
	return locals.Of(new(symbol.Symbolizer), &p)
}

// TestHandMade: the seeds of the fuzz test are read.
func TestHandMade(t *testing.T) {
	var got []string
	for _, v := range readVariables(t, handMade()) {
		got = append(got, v.Name+" = "+v.Value+v.Missing)
	}
	if len(got) != 5 || got[1] != "v = 42" {
		t.Errorf("%q", got)
	}
}

// FuzzLocals reads variables by any debug information.
func FuzzLocals(f *testing.F) {
	s := handMade()
	f.Add(s[".debug_abbrev"], s[".debug_info"], s[".debug_loclists"], []byte(nil))
	f.Add(s[".debug_abbrev"], s[".debug_info"], []byte(nil), []byte{0x11, 1, 0x9f})
	f.Fuzz(func(t *testing.T, abbrev, info, lists, addrs []byte) {
		s := sections{".debug_abbrev": abbrev, ".debug_info": info, ".debug_loclists": lists, ".debug_loc": lists,
			".debug_addr": addrs, ".debug_str": addrs}
		meter.Allocations(t, len(abbrev)+len(info)+len(lists)+len(addrs), func() { readVariables(t, s) })
	})
}
