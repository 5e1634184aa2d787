package macho

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/machofile"
)

// testArchs describe what choosing a processor needs, so that these tests depend on no decoder.
func testArchs() cpu.Set {
	return cpu.Set{
		{Name: "x86_64", AddrSize: 8, RegSize: 8, MachO: 0x0100_0007, CodeAddresses: cpu.CodeAddresses{InsnAlign: 1}},
		{Name: "aarch64", AddrSize: 8, RegSize: 8, MachO: 0x0100_000c, CodeAddresses: cpu.CodeAddresses{InsnAlign: 4}},
		{Name: "i386", AddrSize: 4, RegSize: 4, MachO: 7, CodeAddresses: cpu.CodeAddresses{InsnAlign: 1}},
	}
}

func options() image.Options { return image.Options{Archs: testArchs()} }

func parse(t testing.TB, data []byte) *image.Image {
	t.Helper()
	img, err := image.Parse("test", data, []image.Format{Format()}, options())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// sym is a symbol of the symbol table.
func sym(name string, typ, sect uint8, value uint64) machofile.Symbol {
	return machofile.Symbol{Name: name, Type: typ, Sect: sect, Value: value}
}

// TestSegments: what is executable is what has instructions; strings and unwind tables in
// __TEXT are not, and __PAGEZERO is no part of the image.
func TestSegments(t *testing.T) {
	b := machofile.File{Text: []machofile.Section{machofile.Code("__text", 0x20), machofile.Code("__stubs", 0x10), {Name: "__const", Data: make([]byte, 8)},
		machofile.Code("__more", 8), {Name: "__unwind_info", Data: make([]byte, 8)}}, Data: []machofile.Section{{Name: "__data", Data: make([]byte, 8)}},
		Extra: append(machofile.UUID(7), machofile.Command(lcMain, machofile.U64(0x1004, 0))...), Count: 2}
	img := parse(t, b.Bytes())
	for addr, exec := range map[uint64]bool{
		machofile.Base: false, machofile.TextAt - 1: false, machofile.TextAt: true, machofile.TextAt + 0x2f: true, machofile.TextAt + 0x30: false, machofile.TextAt + 0x37: false,
		machofile.TextAt + 0x38: true, machofile.TextAt + 0x3f: true, machofile.TextAt + 0x40: false, machofile.DataAt: false, 0x1000: false,
	} {
		if img.Segments.Executable(addr) != exec {
			t.Errorf("%#x executable: %t", addr, !exec)
		}
	}
	if lo, _ := img.Segments.Bounds(); lo != machofile.Base {
		t.Errorf("the image begins at %#x", lo)
	}
	if len(img.Segments.Bytes(machofile.TextAt)) != 0x30 || img.Entry != machofile.TextAt+4 || !bytes.Equal(img.BuildID, bytes.Repeat([]byte{7}, 16)) {
		t.Errorf("%d bytes of code, entry %#x, UUID %x", len(img.Segments.Bytes(machofile.TextAt)), img.Entry, img.BuildID)
	}
	if r := img.Table(image.CompactUnwind); r.Addr != machofile.TextAt+0x40 || r.Size != 8 {
		t.Errorf("__unwind_info is %+v", r)
	}
}

// TestNoInstructionSections: in a segment whose sections say nothing of instructions, all is
// executable that the segment says is.
func TestNoInstructionSections(t *testing.T) {
	b := machofile.File{Text: []machofile.Section{{Name: "", Data: make([]byte, 0x20)}}}
	if img := parse(t, b.Bytes()); !img.Segments.Executable(machofile.TextAt) || !img.Segments.Executable(machofile.Base) {
		t.Error("the text is not executable")
	}
}

// TestEncrypted: a program from the App Store says so, and none of its text is used.
func TestEncrypted(t *testing.T) {
	b := machofile.File{Text: []machofile.Section{machofile.Code("__text", 0x20)}, Extra: machofile.Command(lcEncryptionInfo64, machofile.U32(machofile.Page, machofile.Page, 1, 0)), Count: 1}
	img := parse(t, b.Bytes())
	if len(img.Issues) != 1 || !strings.Contains(img.Issues[0], "encrypted") || img.Segments.Code(machofile.TextAt) != nil {
		t.Errorf("issues %q, %d bytes of code", img.Issues, len(img.Segments.Code(machofile.TextAt)))
	}
}

// TestSymbols: the best symbol of an address, without the C compiler's underscore, up to the
// next function that the linker listed and to the end of its section.
func TestSymbols(t *testing.T) {
	b := machofile.File{Text: []machofile.Section{machofile.Code("__text", 0x100), machofile.Code("__more", 0x10)}, Symbols: []machofile.Symbol{
		sym("_main", nSect|nExt, 1, machofile.TextAt+0x10),
		sym("_local", nSect, 1, machofile.TextAt+0x10),
		sym("LBB0", nSect, 1, machofile.TextAt+0x18),
		sym("__ZN1a1bEv", nSect|nExt, 1, machofile.TextAt+0x20),
		sym("_debug", 0x24, 1, machofile.TextAt+0x24), // N_FUN
		sym("_undefined", nExt, 0, 0),
	}, Linkedit: []machofile.Table{{Command: lcFunctionStarts, Data: []byte{0x90, 0x20, 0x10, 0x20, 0}}}} // 0x1010, 0x1020, 0x1040
	img := parse(t, b.Bytes())
	for range 2 * maxScans { // first by scans, then by the index
		for addr, want := range map[uint64]string{
			machofile.TextAt: "", machofile.TextAt + 0x10: "main", machofile.TextAt + 0x1f: "main", machofile.TextAt + 0x20: "_ZN1a1bEv", machofile.TextAt + 0x3f: "_ZN1a1bEv",
			machofile.TextAt + 0x40: "", machofile.TextAt + 0x104: "", machofile.Base: "",
		} {
			if s, ok := img.Symbols.At(addr); s.Name != want || ok != (want != "") {
				t.Fatalf("%#x is %q", addr, s.Name)
			}
		}
	}
	if s, ok := img.Symbols.Named("main"); !ok || s.Addr != machofile.TextAt+0x10 {
		t.Errorf("main is at %#x", s.Addr)
	}
	if _, ok := img.Symbols.Named("undefined"); ok {
		t.Error("an undefined symbol has an address")
	}
	var starts []uint64
	img.Symbols.FunctionStarts(func(addr uint64, _ cpu.Mode) bool { starts = append(starts, addr-machofile.TextAt); return true })
	if len(starts) != 3 || starts[2] != 0x40 {
		t.Errorf("functions start at %#x", starts)
	}
}

// TestExports: where the symbol table has nothing for other files, the trie names functions.
func TestExports(t *testing.T) {
	trie := []byte{0, 1, '_', 0, 5, // the root, one edge "_" to 5
		0, 2, 'f', 0, 14, 'g', 'h', 0, 19, // "_": "f" to 14, "gh" to 19
		3, 0, 0x90, 0x20, 0, // f: flags 0, offset 0x1010
		3, 0, 0xa0, 0x20, 0} // gh: 0x1020
	b := machofile.File{Text: []machofile.Section{machofile.Code("__text", 0x100)}, Linkedit: []machofile.Table{{Command: lcExportsTrie, Data: trie}}}
	img := parse(t, b.Bytes())
	for name, want := range map[string]uint64{"f": machofile.TextAt + 0x10, "gh": machofile.TextAt + 0x20, "g": 0} {
		if s, ok := img.Symbols.Named(name); s.Addr != want || ok != (want != 0) {
			t.Errorf("%s is at %#x", name, s.Addr)
		}
	}
	for range 2 * maxScans { // first by scans, then by the index
		if s, _ := img.Symbols.At(machofile.TextAt + 0x14); s.Name != "f" || s.Addr != machofile.TextAt+0x10 {
			t.Fatalf("%+v", s)
		}
	}
	cyclic := []byte{0, 1, 'a', 0, 0}
	b.Linkedit[0].Data = cyclic
	if _, ok := parse(t, b.Bytes()).Symbols.Named("a"); ok {
		t.Error("a trie that leads back to its root exports something")
	}
}

// TestUniversal: of several processors' files, the one of the capture's processor and UUID.
func TestUniversal(t *testing.T) {
	file := func(cpu uint32, uuid byte) []byte {
		b := machofile.File{CPU: cpu, Text: []machofile.Section{machofile.Code("__text", 0x20)}, Extra: machofile.UUID(uuid), Count: 1}
		return b.Bytes()
	}
	data := machofile.Universal(file(0x7777, 9), file(0x0100_0007, 1), file(0x0100_000c, 2), file(0x0100_000c, 3))
	for _, tt := range []struct {
		arch, uuid int
		want       byte
	}{{-1, 0, 1}, {0, 0, 1}, {1, 0, 2}, {1, 3, 3}, {-1, 2, 2}} {
		opt := options()
		if tt.arch >= 0 {
			opt.Arch = opt.Archs[tt.arch]
		}
		if tt.uuid > 0 {
			opt.BuildID = bytes.Repeat([]byte{byte(tt.uuid)}, 16)
		}
		img, err := image.Parse("fat", data, []image.Format{Format()}, opt)
		if err != nil || img.BuildID[0] != tt.want || img.Slices != 4 {
			t.Errorf("processor %d, UUID %d: %v", tt.arch, tt.uuid, err)
		}
		if opt.Arch, opt.Raw = nil, opt.Arch; tt.arch >= 0 {
			if img, err = image.Parse("fat", data, []image.Format{Format()}, opt); err != nil || img.BuildID[0] != tt.want {
				t.Errorf("processor %d, named by the user, UUID %d: %v", tt.arch, tt.uuid, err)
			}
		}
	}
	if sniff([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x34")) {
		t.Error("a Java class is taken for a universal file")
	}
}

// TestDsym: the bundle beside the binary names what was stripped, if its UUID is the binary's.
func TestDsym(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stripped := machofile.File{Text: []machofile.Section{machofile.Code("__text", 0x20)}, Extra: machofile.UUID(1), Count: 1}
	full := stripped
	full.Type, full.Symbols = mhDsym, []machofile.Symbol{sym("_main", nSect|nExt, 1, machofile.TextAt)}
	main := write("prog", stripped.Bytes())
	for uuid, want := range map[byte]string{2: "", 1: "main"} {
		full.Extra = machofile.UUID(uuid)
		write("prog.dSYM/Contents/Resources/DWARF/prog", full.Bytes())
		img, err := image.Open(main, []image.Format{Format()}, options())
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := img.Symbols.At(machofile.TextAt + 4); s.Name != want {
			t.Errorf("with a dSYM of UUID %d the function is %q", uuid, s.Name)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefused: one line that says what the file is.
func TestRefused(t *testing.T) {
	for typ, want := range map[uint32]string{mhObject: "link it first", mhCore: "is a capture", 99: "neither an executable"} {
		b := machofile.File{Type: typ}
		_, err := image.Parse("f", b.Bytes(), []image.Format{Format()}, options())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f: offset 0xc: ") {
			t.Errorf("type %d: %v", typ, err)
		}
	}
	b := machofile.File{CPU: 18}
	if _, err := image.Parse("f", b.Bytes(), []image.Format{Format()}, options()); err == nil || !strings.Contains(err.Error(), "cputype 0x12") {
		t.Errorf("PowerPC: %v", err)
	}
}
