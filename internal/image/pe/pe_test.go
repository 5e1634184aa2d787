package pe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth/pefile"
)

const base = 0x1_4000_0000

// library exports second, forwards third, imports ExitProcess, and has symbols for first and for a static helper.
func library() *pefile.File {
	text := bytes.Repeat([]byte{0xc3}, 0x100)
	exports := pefile.U32(0, 0, 0, 0, 1, 2, 2, 0x2028, 0x2030, 0x2038, 0x1040, 0x2050, 0x2040, 0x2047, 1<<16) // behind the head: addresses, names, ordinals
	exports = append(exports[:0x3c], "\x00\x00\x00\x00second\x00third\x00\x00\x00a.b"...)
	imports := pefile.U32(0x3040, 0, 0, 0x3060, 0x3050, 0, 0, 0, 0, 0)
	imports = append(imports, make([]byte, 0x40-len(imports))...)
	imports = append(imports, pefile.U32(0x3070, 0, 0, 0, 0x3070, 0, 0, 0)...)
	imports = append(append(imports, "kernel32.dll\x00\x00\x00\x00"...), "\x00\x00ExitProcess\x00"...)
	debug := append(pefile.U32(0, 0, 0, 2, 0x20, 0x401c, 0x401c), "RSDSGUID of 16 bytes\x01\x00\x00\x00a.pdb\x00"...)
	f := &pefile.File{Machine: pefile.X64, Base: base, Sections: []pefile.Section{
		{Name: ".text", Data: text, Flags: pefile.Code}, {Name: ".edata", Data: exports, Flags: pefile.ReadOnly},
		{Name: ".idata", Data: imports, Flags: pefile.ReadOnly}, {Name: ".rdata", Data: debug, Flags: pefile.ReadOnly},
	}, Directories: map[int][2]uint32{pefile.Exports: {0x2000, 0x60}, pefile.Imports: {0x3000, 0x28}, pefile.Debug: {0x4000, 28}}}
	entry := func(name string, value, typ, class byte) []byte {
		e := make([]byte, 18)
		copy(e, name)
		e[8], e[12], e[14], e[16] = value, 1, typ, class
		return e
	}
	f.Symbols = append(f.Symbols, entry("first", 0x10, 0x20, 2)...)
	f.Symbols = append(f.Symbols, entry("helper", 0x20, 0x20, 3)...)
	f.Symbols = append(f.Symbols, entry("label", 0x28, 0, 3)...)
	f.Symbols = append(f.Symbols, entry("\x00\x00\x00\x00\x04\x00\x00\x00", 0x30, 0x20, 2)...)
	f.Symbols = append(f.Symbols, "\x20\x00\x00\x00a function with a name that is long\x00"...)
	f.SymbolCount = 4
	return f
}

func options() image.Options {
	return image.Options{Archs: append(cpu.Set(x86.Archs()), arm64.Archs()...)}
}

func parsed(t *testing.T, data []byte) *image.Image {
	t.Helper()
	img, err := image.Parse("a.dll", data, []image.Format{Format()}, options())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestHeaders: what the headers say of processor, place and build.
func TestHeaders(t *testing.T) {
	img := parsed(t, library().Bytes())
	if img.Arch.Name != "x86_64" || img.System != "windows" || img.Entry != base+0x1000 {
		t.Errorf("%v %q entry %#x", img.Arch, img.System, img.Entry)
	}
	if string(img.BuildID) != "GUID of 16 bytes\x01\x00\x00\x00" {
		t.Errorf("build ID %q", img.BuildID)
	}
	if s, ok := img.Segments.At(base + 0x1010); !ok || !s.Exec || s.Addr != base+0x1000 || s.Size != 0x100 {
		t.Errorf("text %+v", s)
	}
	if s, ok := img.Segments.At(base); !ok || s.Exec || !bytes.HasPrefix(s.Data, []byte("MZ")) {
		t.Errorf("headers %+v", s)
	}
	if s, ok := img.Sections.Named(".text"); !ok || s.Addr != base+0x1000 {
		t.Errorf("section %+v", s)
	}
}

// TestNames: of an address the symbol at or before, of labels none; exports only where they are code of this file.
func TestNames(t *testing.T) {
	img := parsed(t, library().Bytes())
	for addr, want := range map[uint64]string{
		0x1008: "", 0x1010: "first", 0x1018: "first", 0x1029: "helper", 0x1030: "a function with a name that is long", 0x1041: "second", 0x2000: "",
	} {
		if s, _ := img.Symbols.At(base + addr); s.Name != want {
			t.Errorf("%#x is %q, want %q", addr, s.Name, want)
		}
	}
	if s, ok := img.Symbols.Named("second"); !ok || s.Addr != base+0x1040 {
		t.Errorf("second %+v", s)
	}
	if _, ok := img.Symbols.Named("third"); ok {
		t.Error("another library's function is no symbol")
	}
	if name, ok := img.Import(base + 0x3050); !ok || name != "ExitProcess" {
		t.Errorf("import %q", name)
	}
	if _, ok := img.Import(base + 0x3058); ok {
		t.Error("an import behind the last")
	}
}

// TestUnderscore: i386's C compilers put an underscore before names.
func TestUnderscore(t *testing.T) {
	f := library()
	f.Machine, f.Base = pefile.I386, 0x40_0000
	copy(f.Symbols, "_first\x00\x00")
	img := parsed(t, f.Bytes())
	if s, ok := img.Symbols.At(0x40_1012); !ok || s.Name != "first" || img.Arch.Name != "i386" {
		t.Errorf("%+v in %v", s, img.Arch)
	}
}

// TestRefused: one line says what is wrong, and where.
func TestRefused(t *testing.T) {
	whole := library().Bytes()
	other := library()
	other.Machine = 0x166
	for _, c := range []struct {
		data []byte
		want string
	}{
		{other.Bytes(), "a.dll: offset 0x84: unsupported processor: machine 0x166"},
		{whole[:0x90], "a.dll: offset 0x80: the PE header ends with the file"},
		{append(whole[:0x98:0x98], make([]byte, 0x100)...), "a.dll: offset 0x98: the optional header begins with 0x0: neither PE32 nor PE32+"},
		{whole[:0x100], "a.dll: offset 0x98: the optional header ends with the file"},
		{whole[:0x1a0], "a.dll: offset 0x188: the section table lies beyond the end of the file"},
	} {
		if _, err := image.Parse("a.dll", c.data, []image.Format{Format()}, options()); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if sniff([]byte("MZ" + strings.Repeat("\x00", 100))) {
		t.Error("a program for DOS is no PE file")
	}
}

// FuzzPE: whatever a file says, reading it ends and never panics.
func FuzzPE(f *testing.F) {
	f.Add(library().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := image.Parse("fuzz", data, []image.Format{Format()}, options())
		if err != nil {
			return
		}
		defer img.Close()
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			img.Symbols.At(addr)
			return addr%7 != 0
		})
		img.Symbols.Named("first")
		for _, s := range img.Segments {
			img.Import(s.Addr)
			img.Symbols.At(s.Addr + 8)
		}
		img.Sections.Named(".debug_info")
	})
}
