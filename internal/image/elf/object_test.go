package elf

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/image"
)

// object assembles a relocatable object for x86-64:
//
//	.text       f:  call extern
//	                ret
//	.data       pointer to f
//	.init.text  init: ret
func moduleObject() []byte {
	le := binary.LittleEndian
	names := "\x00.text\x00.data\x00.init.text\x00.symtab\x00.strtab\x00.rela.text\x00.rela.data\x00"
	name := func(s string) uint32 { return uint32(bytes.Index([]byte(names), []byte("\x00"+s+"\x00")) + 1) }
	strings := "\x00f\x00extern\x00init\x00"
	var syms []byte
	for _, s := range []struct {
		name       uint32
		info       byte
		shndx      uint16
		value, siz uint64
	}{{}, {1, 0x12, 1, 0, 6}, {3, 0x10, 0, 0, 0}, {10, 0x12, 3, 0, 1}} {
		syms = le.AppendUint32(syms, s.name)
		syms = le.AppendUint16(append(syms, s.info, 0), s.shndx)
		syms = le.AppendUint64(le.AppendUint64(syms, s.value), s.siz)
	}
	rela := func(off uint64, sym, typ uint64, addend int64) []byte {
		return le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, off), sym<<32|typ), uint64(addend))
	}
	sections := []struct {
		name, typ  uint32
		flags      uint64
		data       []byte
		link, info uint32
	}{
		{},
		{name(".text"), 1, 6, []byte{0xe8, 0, 0, 0, 0, 0xc3}, 0, 0},
		{name(".data"), 1, 3, make([]byte, 8), 0, 0},
		{name(".init.text"), 1, 6, []byte{0xc3}, 0, 0},
		{name(".symtab"), 2, 0, syms, 5, 1},
		{name(".strtab"), 3, 0, []byte(strings), 0, 0},
		{name(".rela.text"), 4, 0, rela(1, 2, 4, -4), 4, 1}, // PLT32
		{name(".rela.data"), 4, 0, rela(0, 1, 1, 0), 4, 2},  // 64
		{name(".strtab"), 3, 0, []byte(names), 0, 0},
	}
	body := make([]byte, 64)
	var headers []byte
	for _, s := range sections {
		headers = le.AppendUint32(le.AppendUint32(headers, s.name), s.typ)
		for _, v := range []uint64{s.flags, 0, uint64(len(body)), uint64(len(s.data))} {
			headers = le.AppendUint64(headers, v)
		}
		headers = le.AppendUint32(le.AppendUint32(headers, s.link), s.info)
		headers = le.AppendUint64(le.AppendUint64(headers, 8), 24)
		body = append(body, s.data...)
	}
	copy(body, "\x7fELF\x02\x01\x01")
	le.PutUint16(body[16:], 1)
	le.PutUint16(body[18:], 62)
	le.PutUint64(body[40:], uint64(len(body)))
	le.PutUint16(body[58:], 64)
	le.PutUint16(body[60:], uint16(len(sections)))
	le.PutUint16(body[62:], uint16(len(sections)-1))
	return append(body, headers...)
}

// TestLink: a module's code lies at its base, data behind, what only its start needs at the
// end; calls and pointers are filled in, symbols are where they ran.
func TestLink(t *testing.T) {
	const base, extern = 0xffffffffc0200000, 0xffffffffc0100000 // a megabyte apart
	linked, err := Link("m.ko", moduleObject(), Placement{Base: base, Resolve: func(name string) (uint64, bool) { return extern, name == "extern" }})
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse("m.ko", linked, []image.Format{Format()}, options())
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Symbols.At(base + 5); !ok || s.Name != "f" || s.Addr != base {
		t.Errorf("at the base: %+v", s)
	}
	if got, _ := img.Uint(base+1, 4); int32(got) != extern-base-5 {
		t.Errorf("call of %#x", got)
	}
	if name, ok := img.Import(extern); !ok || name != "extern" {
		t.Errorf("at %#x lies %q, which the module calls", uint64(extern), name)
	}
	data, _ := img.Sections.Named(".data")
	if got, _ := img.Uint(data.Addr, 8); got != base || data.Addr <= base {
		t.Errorf(".data at %#x holds %#x, want %#x", data.Addr, got, uint64(base))
	}
	if s, ok := img.Symbols.Named("init"); !ok || s.Addr <= data.Addr {
		t.Errorf("init: %+v", s)
	}
}

// TestLinkSections: where sysfs says where a section lies, there it is. A call that nothing
// resolves leads to no code.
func TestLinkSections(t *testing.T) {
	linked, err := Link("m.ko", moduleObject(), Placement{Sections: map[string]uint64{".text": 0x5000, ".data": 0x9000}})
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse("m.ko", linked, []image.Format{Format()}, options())
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Symbols.Named("f"); !ok || s.Addr != 0x5000 {
		t.Errorf("f: %+v", s)
	}
	if call, _ := img.Uint(0x5001, 4); img.Segments.Executable(0x5005 + call) {
		t.Errorf("an unresolved call goes to code at %#x", 0x5005+call)
	}
	if _, err := Link("m.ko", linked, Placement{}); err == nil {
		t.Error("what is linked is linked again")
	}
}

func FuzzLink(f *testing.F) {
	f.Add(moduleObject())
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, machine := range []byte{62, 183, 40, 8, 243, 3} {
			if len(data) > 20 {
				data[18] = machine
			}
			if linked, err := Link("m.ko", data, Placement{Base: 0x1000}); err == nil && len(linked) != len(data) {
				t.Fatal("the size changed")
			}
		}
	})
}

// TestLinkTwoTables: an object has one symbol table; a second header for the same table does not
// move its symbols again.
func TestLinkTwoTables(t *testing.T) {
	const base, symtab, headerSize = 0x4000, 4, 64
	object := moduleObject()
	headers := binary.LittleEndian.Uint64(object[40:])
	object = append(object, object[headers+symtab*headerSize:][:headerSize]...)
	object[60]++ // e_shnum
	linked, err := Link("m.ko", object, Placement{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse("m.ko", linked, []image.Format{Format()}, options())
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Symbols.Named("f"); !ok || s.Addr != base {
		t.Errorf("f: %+v, want %#x", s, uint64(base))
	}
}

// TestLinkAbsurdNumbers: sections and symbols that are not there, of numbers that an int of 32
// bits takes for negative ones among them.
func TestLinkAbsurdNumbers(t *testing.T) {
	const relaText, headerSize = 6, 64
	le := binary.LittleEndian
	for _, number := range []uint32{100, 1 << 31, 1<<32 - 1} {
		for name, edit := range map[string]func(object, header []byte){
			"sh_link": func(_, header []byte) { le.PutUint32(header[40:], number) },
			"sh_info": func(_, header []byte) { le.PutUint32(header[44:], number) },
			"symbol":  func(object, header []byte) { le.PutUint32(object[le.Uint64(header[24:])+12:], number) },
		} {
			object := moduleObject()
			edit(object, object[le.Uint64(object[40:])+relaText*headerSize:])
			if linked, err := Link("m.ko", object, Placement{Base: 0x4000}); err != nil || len(linked) != len(object) {
				t.Errorf("%s %#x: %d bytes, %v", name, number, len(linked), err)
			}
		}
	}
}
