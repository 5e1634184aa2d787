package macho

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// uuidCommand is LC_UUID with sixteen equal bytes.
func uuidCommand(b byte) []byte { return command(lcUUID, bytes.Repeat([]byte{b}, 16)) }

// TestSegments: what is executable is what has instructions; strings and unwind tables in
// __TEXT are not, and __PAGEZERO is no part of the image.
func TestSegments(t *testing.T) {
	b := built{text: []sec{code("__text", 0x20), code("__stubs", 0x10), {name: "__const", data: make([]byte, 8)},
		code("__more", 8), {name: "__unwind_info", data: make([]byte, 8)}}, data: []sec{{name: "__data", data: make([]byte, 8)}},
		extra: append(uuidCommand(7), command(lcMain, u64s(0x1004, 0))...), ncmds: 2}
	img := parse(t, b.bytes())
	for addr, exec := range map[uint64]bool{
		textBase: false, textAt - 1: false, textAt: true, textAt + 0x2f: true, textAt + 0x30: false, textAt + 0x37: false,
		textAt + 0x38: true, textAt + 0x3f: true, textAt + 0x40: false, dataAt: false, 0x1000: false,
	} {
		if img.Executable(addr) != exec {
			t.Errorf("%#x executable: %t", addr, !exec)
		}
	}
	if lo, _ := img.Bounds(); lo != textBase {
		t.Errorf("the image begins at %#x", lo)
	}
	if len(img.Bytes(textAt)) != 0x30 || img.Entry != textAt+4 || !bytes.Equal(img.BuildID, bytes.Repeat([]byte{7}, 16)) {
		t.Errorf("%d bytes of code, entry %#x, UUID %x", len(img.Bytes(textAt)), img.Entry, img.BuildID)
	}
	if r := img.Table(image.CompactUnwind); r.Addr != textAt+0x40 || r.Size != 8 {
		t.Errorf("__unwind_info is %+v", r)
	}
}

// TestNoInstructionSections: in a segment whose sections say nothing of instructions, all is
// executable that the segment says is.
func TestNoInstructionSections(t *testing.T) {
	b := built{text: []sec{{name: "", data: make([]byte, 0x20)}}}
	if img := parse(t, b.bytes()); !img.Executable(textAt) || !img.Executable(textBase) {
		t.Error("the text is not executable")
	}
}

// TestEncrypted: a program from the App Store says so, and none of its text is used.
func TestEncrypted(t *testing.T) {
	b := built{text: []sec{code("__text", 0x20)}, extra: command(lcEncryptionInfo64, u32s(page, page, 1, 0)), ncmds: 1}
	img := parse(t, b.bytes())
	if len(img.Issues) != 1 || !strings.Contains(img.Issues[0], "encrypted") || img.Code(textAt) != nil {
		t.Errorf("issues %q, %d bytes of code", img.Issues, len(img.Code(textAt)))
	}
}

// TestSymbols: the best symbol of an address, without the C compiler's underscore, up to the
// next function that the linker listed and to the end of its section.
func TestSymbols(t *testing.T) {
	b := built{text: []sec{code("__text", 0x100), code("__more", 0x10)}, symbols: []sym{
		{"_main", nSect | nExt, 1, 0, textAt + 0x10},
		{"_local", nSect, 1, 0, textAt + 0x10},
		{"LBB0", nSect, 1, 0, textAt + 0x18},
		{"__ZN1a1bEv", nSect | nExt, 1, 0, textAt + 0x20},
		{"_debug", 0x24, 1, 0, textAt + 0x24}, // N_FUN
		{"_undefined", nExt, 0, 0, 0},
	}, linkedit: []linked{{lcFunctionStarts, []byte{0x90, 0x20, 0x10, 0x20, 0}}}} // 0x1010, 0x1020, 0x1040
	img := parse(t, b.bytes())
	for range 2 * maxScans { // first by scans, then by the index
		for addr, want := range map[uint64]string{
			textAt: "", textAt + 0x10: "main", textAt + 0x1f: "main", textAt + 0x20: "_ZN1a1bEv", textAt + 0x3f: "_ZN1a1bEv",
			textAt + 0x40: "", textAt + 0x104: "", textBase: "",
		} {
			if s, ok := img.SymbolAt(addr); s.Name != want || ok != (want != "") {
				t.Fatalf("%#x is %q", addr, s.Name)
			}
		}
	}
	if s, ok := img.SymbolNamed("main"); !ok || s.Addr != textAt+0x10 {
		t.Errorf("main is at %#x", s.Addr)
	}
	if _, ok := img.SymbolNamed("undefined"); ok {
		t.Error("an undefined symbol has an address")
	}
	var starts []uint64
	img.FunctionStarts(func(addr uint64, _ cpu.Mode) bool { starts = append(starts, addr-textAt); return true })
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
	b := built{text: []sec{code("__text", 0x100)}, linkedit: []linked{{lcExportsTrie, trie}}}
	img := parse(t, b.bytes())
	for name, want := range map[string]uint64{"f": textAt + 0x10, "gh": textAt + 0x20, "g": 0} {
		if s, ok := img.SymbolNamed(name); s.Addr != want || ok != (want != 0) {
			t.Errorf("%s is at %#x", name, s.Addr)
		}
	}
	if s, _ := img.SymbolAt(textAt + 0x14); s.Name != "f" {
		t.Errorf("%q", s.Name)
	}
	cyclic := []byte{0, 1, 'a', 0, 0}
	b.linkedit[0].data = cyclic
	if _, ok := parse(t, b.bytes()).SymbolNamed("a"); ok {
		t.Error("a trie that leads back to its root exports something")
	}
}

// TestImports: the words that dyld fills in, by each of the ways to say which.
func TestImports(t *testing.T) {
	bind := append([]byte{bindSymbol}, "_abort\x00"...)
	bind = append(bind, bindSegment|2, 8, bindDo, bindSymbol)
	bind = append(append(bind, "_exit\x00"...), bindDoAddAddrImm|1, bindDo, bindDone)
	chain := append(u32s(0, 28, 0, 0, 2, 1, 0), u32s(4, 0, 0, 20, 0)...) // header; dyld_chained_starts_in_image: the third of four segments
	chain = append(chain, u32s(24, page|ptr64<<16)...)                   // size, page_size, pointer_format
	chain = append(chain, u64s(2*page)...)                               // segment_offset
	chain = append(chain, u32s(0, 1|8<<16)...)                           // max_valid_pointer, page_count, page_start
	at := uint32(len(chain))                                             // imports
	chain = append(chain, u32s(1<<9, 8<<9)...)                           // names at 1 and 8
	chain = append(chain, "\x00_abort\x00_exit\x00"...)                  //
	copy(chain[8:], u32s(at, at+8))                                      // imports_offset, symbols_offset
	words := u64s(0, 1<<63|2<<51, textAt+4|uint64(4)<<51, 0, 1<<63|1)    // a bind, a rebase, a gap, a bind
	for name, b := range map[string]built{
		"indirect symbols": {data: []sec{{"__got", make([]byte, 40), sNonLazyPointers, 0}},
			symbols:  []sym{{"_abort", nExt, 0, 0, 0}, {"_exit", nExt, 0, 0, 0}},
			linkedit: []linked{{lcDysymtab, u32s(indirectLocal, 0, 1, indirectAbs, 1)}}},
		"bind opcodes":   {data: []sec{{"__got", make([]byte, 40), 0, 0}}, linkedit: []linked{{lcDyldInfo | lcReqDyld, bind}}},
		"chained fixups": {data: []sec{{"__got", words, 0, 0}}, linkedit: []linked{{lcChainedFixups, chain}}},
	} {
		b.text = []sec{code("__text", 0x20)}
		img := parse(t, b.bytes())
		want := map[uint64]string{0: "", 8: "abort", 32: "exit", 12: ""}
		if name == "bind opcodes" {
			want = map[uint64]string{0: "", 8: "abort", 16: "exit", 32: "exit"}
		} else if name == "indirect symbols" {
			want[16] = "exit"
		}
		for off, want := range want {
			if got, ok := img.Import(dataAt + off); got != want || ok != (want != "") {
				t.Errorf("%s: the word at %d is bound to %q, want %q", name, off, got, want)
			}
		}
	}
}

// TestRebased: the words that move with the image.
func TestRebased(t *testing.T) {
	b := built{flags: mhPIE, text: []sec{code("__text", 0x20)}, data: []sec{{"__data", u64s(1, textAt, 2, textAt+8, 3, textAt+16), 0, 0}},
		linkedit: []linked{{lcDyldInfo, []byte{rebaseSegment | 2, 8, rebaseTimesSkipped, 3, 8, rebaseDone}}}}
	var got []uint64
	all := parse(t, b.bytes()).Rebased(func(v uint64) bool { got = append(got, v-textAt); return true })
	if !all || len(got) != 3 || got[0] != 0 || got[1] != 8 || got[2] != 16 {
		t.Errorf("%#x, all: %t", got, all)
	}
	b.flags = 0
	if parse(t, b.bytes()).Rebased(func(uint64) bool { return true }) {
		t.Error("a program that is loaded where it was linked moves words")
	}
}

// universal joins files as lipo does.
func universal(files ...[]byte) []byte {
	be := binary.BigEndian
	out := be.AppendUint32(be.AppendUint32(nil, fatMagic), uint32(len(files)))
	at := uint32(page)
	for _, f := range files {
		out = append(out, make([]byte, 8)...)
		out = be.AppendUint32(be.AppendUint32(be.AppendUint32(out, at), uint32(len(f))), 12)
		at += uint32(len(f)+page-1) &^ (page - 1)
	}
	for _, f := range files {
		out = append(out, make([]byte, -len(out)&(page-1))...)
		out = append(out, f...)
	}
	return out
}

// TestUniversal: of several processors' files, the one of the capture's processor and UUID.
func TestUniversal(t *testing.T) {
	file := func(cpu uint32, uuid byte) []byte {
		b := built{cpu: cpu, text: []sec{code("__text", 0x20)}, extra: uuidCommand(uuid), ncmds: 1}
		return b.bytes()
	}
	data := universal(file(0x7777, 9), file(0x0100_0007, 1), file(0x0100_000c, 2), file(0x0100_000c, 3))
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
	stripped := built{text: []sec{code("__text", 0x20)}, extra: uuidCommand(1), ncmds: 1}
	full := stripped
	full.typ, full.symbols = mhDsym, []sym{{"_main", nSect | nExt, 1, 0, textAt}}
	main := write("prog", stripped.bytes())
	for uuid, want := range map[byte]string{2: "", 1: "main"} {
		full.extra = uuidCommand(uuid)
		write("prog.dSYM/Contents/Resources/DWARF/prog", full.bytes())
		img, err := Open(main, options())
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := img.SymbolAt(textAt + 4); s.Name != want {
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
		b := built{typ: typ}
		_, err := image.Parse("f", b.bytes(), []image.Format{Format()}, options())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f: offset 0xc: ") {
			t.Errorf("type %d: %v", typ, err)
		}
	}
	b := built{cpu: 18}
	if _, err := image.Parse("f", b.bytes(), []image.Format{Format()}, options()); err == nil || !strings.Contains(err.Error(), "cputype 0x12") {
		t.Errorf("PowerPC: %v", err)
	}
}
