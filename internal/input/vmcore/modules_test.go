package vmcore

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestModules: where the code of a module lies, as three generations of struct module say it.
func TestModules(t *testing.T) {
	const head, module, code = 0xffff_8000_0900_0100, 0xffff_8000_0100_4100, 0xffff_8000_0100_0000
	const listAt, nameAt, rangeAt = 8, 24, 0x140
	word := binary.LittleEndian.AppendUint64
	half := binary.LittleEndian.AppendUint32
	for _, c := range []struct {
		name string
		said []byte // at rangeAt
		code uint64 // its size
	}{
		{"until 6.3: base, size of all, size of the code", half(half(word(nil, code), 0x6000), 0x2000), 0x2000},
		{"since 6.4: base, size", half(half(word(nil, code), 0x2800), 0), 0x2800},
		{"since 6.13: base, is_rox, size", half(half(word(nil, code), 1), 0x2800), 0x2800},
		{"and not is_rox", half(half(word(nil, code), 0), 0x2800), 0x2800},
		{"of no size", half(half(word(nil, code), 0), 0), 0},
		{"too large", half(half(word(nil, code), 1), 0xffff_ffff), 0},
	} {
		data := make([]byte, 0x1000)
		binary.LittleEndian.PutUint64(data[0x100:], module+listAt)
		binary.LittleEndian.PutUint64(data[0x108:], module+listAt)
		structure := make([]byte, 0x2000)
		at := structure[0x100:]
		binary.LittleEndian.PutUint64(at[listAt:], head)
		binary.LittleEndian.PutUint64(at[listAt+8:], head)
		copy(at[nameAt:], "net_example")
		copy(at[rangeAt:], c.said)
		var b target.Builder
		b.Add(code, make([]byte, 0x4000), 0, target.PermRead|target.PermExec)
		b.Add(module&^0xfff, structure, 0, target.PermRead|target.PermWrite)
		b.Add(head&^0xfff, data, 0, target.PermRead|target.PermWrite)
		arch := arm64.Archs()[0]
		k := kernelImage{text: target.Range{Lo: head&^0xfff - 0x1000, Hi: head &^ 0xfff}, data: target.Range{Lo: head&^0xfff - 0x1000, Hi: head + 0x100}}
		found := moduleReader{arch, b.Memory(arch)}.list(&k)
		if len(found) != min(1, int(c.code)) {
			t.Errorf("%s: found %+v", c.name, found)
			continue
		}
		if c.code > 0 && (found[0].name != "net_example" || found[0].text != target.Range{Lo: code, Hi: code + c.code}) {
			t.Errorf("%s: %+v", c.name, found[0])
		}
	}
}

// TestModuleNames: a module's functions are named by the symbol table that the kernel keeps of it, in which marks of
// the assembler stand between them.
func TestModuleNames(t *testing.T) {
	const code, at = 0xffff_8000_0100_0000, 0xffff_8000_0100_4000
	const symtab, strtab = at + 0x800, at + 0xc00
	structure := make([]byte, 0x1000)
	binary.LittleEndian.PutUint64(structure[0x200:], at+0x400) // struct mod_kallsyms
	binary.LittleEndian.PutUint64(structure[0x400:], symtab)
	binary.LittleEndian.PutUint64(structure[0x410:], strtab)
	binary.LittleEndian.PutUint64(structure[0x418:], strtab)
	names, entries := []byte{0}, make([]byte, 24)
	for i, s := range []struct {
		name string
		info byte // 2: a function, 0: of no type
	}{{"example_open", 2}, {".LBB12", 0}, {".L0 ", 0}, {"$x", 0}, {"example_entry", 0}} {
		entry := binary.LittleEndian.AppendUint32(nil, uint32(len(names)))
		entry = append(entry, s.info, 0, 1, 0)
		entry = binary.LittleEndian.AppendUint64(entry, code+16*uint64(i))
		entries = append(entries, binary.LittleEndian.AppendUint64(entry, 16)...)
		names = append(append(names, s.name...), 0)
	}
	binary.LittleEndian.PutUint32(structure[0x408:], uint32(len(entries)/24))
	copy(structure[0x800:], entries)
	copy(structure[0xc00:], names)
	var b target.Builder
	b.Add(at, structure, 0, target.PermRead|target.PermWrite)
	arch := arm64.Archs()[0]
	whole := target.Range{Lo: code, Hi: code + 0x1000}
	table := moduleReader{arch, b.Memory(arch)}.names(&loaded{at: at, whole: whole, text: whole})
	if table == nil {
		t.Fatal("no names")
	}
	for off, want := range map[uint64]string{4: "example_open", 0x18: "example_open", 0x38: "example_open", 0x44: "example_entry"} {
		if got, _ := table.At(code + off); got.Name != want {
			t.Errorf("%#x: %q, want %q", off, got.Name, want)
		}
	}
}
