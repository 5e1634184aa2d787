package elf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/meter"
)

// touch asks an image for everything that it can tell.
func touch(img *image.Image) {
	lo, hi := img.Segments.Bounds()
	for _, addr := range []uint64{0, lo, lo + 1, lo/2 + hi/2, hi - 1, hi, ^uint64(0), img.Entry} {
		img.Symbols.At(addr)
		img.Segments.Bytes(addr)
		img.Segments.Before(addr, 16)
		img.Segments.Code(addr)
		img.Word(addr)
		img.Import(addr)
	}
	for addr := range uint64(64) {
		img.Import(importsGOT + addr)
	}
	n := 0
	img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
		img.Symbols.At(addr)
		n++
		return n < 1000
	})
	for _, name := range []string{
		".text", ".eh_frame", ".eh_frame_hdr", ".ARM.exidx", ".dynamic", ".symtab", ".debug_info", ".debug_line",
		".debug_frame", ".gnu_debuglink", ".gnu_debugdata", "",
	} {
		img.Sections.Named(name)
	}
	for _, name := range []string{"f", "", "\x00", "main"} {
		img.Symbols.Named(name)
	}
}

// attempt parses data and touches what comes out.
func attempt(data []byte) {
	if img, err := parseAs("hostile", data); err == nil {
		touch(img)
	}
}

// everything is a small file with all that the package reads.
func everything(t testing.TB, e build) []byte {
	e.typ, e.entry = etDyn, 0x1000
	inner := build{wide: e.wide, big: e.big, machine: e.machine, noSegments: true}
	inner.secs = inner.symtab(".symtab", ".strtab", tsym{name: "hidden", value: 0x1010, size: 16, info: localFunc, shndx: 1})
	dyn := e.buf()
	dyn.word(dtSymtab, 0x1000, dtStrtab, 0x1008, dtStrsz, 8, dtGNUHash, 0x1000, 0, 0)
	e.secs = append([]sec{
		text(0x1000, 0x40),
		{name: ".note.gnu.build-id", flags: shfAlloc, addr: 0x1800, data: e.note([]byte("identity"))},
		{name: ".eh_frame_hdr", flags: shfAlloc, addr: 0x2000, data: []byte{1, 0x1b, 3, 0x3b, 4, 0, 0, 0, 0, 0, 0, 0}},
		{name: ".dynamic", flags: shfAlloc | shfWrite, addr: 0x3000, data: dyn.b},
		{name: ".ARM.attributes", data: []byte("A\x15\x00\x00\x00aeabi\x00\x01\x0b\x00\x00\x00\x06\x0a\x07M\x08\x00")},
		{name: ".debug_info", flags: shfCompressed, data: e.chdr(elfcompressZlib, 4, deflate([]byte("info")))},
		{name: ".debug_line", flags: shfCompressed, data: e.chdr(elfcompressZstd, 4, zstandard([]byte("line")))},
		{name: ".zdebug_frame", data: zdebug(5, deflate([]byte("frame")))},
		{name: ".gnu_debuglink", data: []byte("x.debug\x00\x01\x02\x03\x04")},
		{name: ".gnu_debugdata", data: xzip(t, inner.bytes(), 1<<20)},
	}, e.symtab(".dynsym", ".dynstr",
		tsym{name: "f", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
		tsym{name: "main", value: 0x1020, info: asmLabel, shndx: 1})...)
	e.phdrs = []ph{{ptDynamic, ".dynamic"}, {ptGNUEHFrame, ".eh_frame_hdr"}, {ptNote, ".note.gnu.build-id"}}
	return e.bytes()
}

func variants() []build {
	return []build{{}, {wide: true}, {machine: emARM}, {big: true, machine: emMIPS}, {wide: true, big: true, machine: emMIPS}}
}

func TestEveryPrefix(t *testing.T) {
	for _, e := range variants() {
		data := everything(t, e)
		for n := range data {
			attempt(data[:n])
		}
	}
}

// Every byte of the ELF header, the program headers and the section headers in
// turn is made an extreme.
func TestEveryHeaderByte(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for _, e := range variants()[1:3] {
		data := everything(t, e)
		f, err := newFile(&image.File{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			if i > 0x400 && uint64(i) < f.sections.off {
				continue
			}
			old := data[i]
			for _, v := range []byte{0, 0x80, 0xff} {
				data[i] = v
				attempt(data)
			}
			data[i] = old
		}
	}
}

// Fields of the ELF64 header at their file offsets.
const (
	offPhoff     = 32
	offShoff     = 40
	offPhentsize = 54
	offPhnum     = 56
	offShentsize = 58
	offShnum     = 60
	offShstrndx  = 62
)

func TestAbsurdHeaders(t *testing.T) {
	le := binary.LittleEndian
	for name, edit := range map[string]func(b []byte){
		"e_phoff at the end":    func(b []byte) { le.PutUint64(b[offPhoff:], uint64(len(b))) },
		"e_phoff wraps":         func(b []byte) { le.PutUint64(b[offPhoff:], ^uint64(0)) },
		"e_shoff wraps":         func(b []byte) { le.PutUint64(b[offShoff:], ^uint64(63)) },
		"e_shoff is the header": func(b []byte) { le.PutUint64(b[offShoff:], 1) },
		"e_phentsize 0":         func(b []byte) { le.PutUint16(b[offPhentsize:], 0) },
		"e_phentsize odd":       func(b []byte) { le.PutUint16(b[offPhentsize:], 57) },
		"e_shentsize 1":         func(b []byte) { le.PutUint16(b[offShentsize:], 1) },
		"e_shentsize odd":       func(b []byte) { le.PutUint16(b[offShentsize:], 65) },
		"e_shentsize huge":      func(b []byte) { le.PutUint16(b[offShentsize:], 0xffff) },
		"e_phnum all":           func(b []byte) { le.PutUint16(b[offPhnum:], 0xffff) },
		"e_shnum 0":             func(b []byte) { le.PutUint16(b[offShnum:], 0) },
		"e_shnum all":           func(b []byte) { le.PutUint16(b[offShnum:], 0xffff) },
		"e_shstrndx beyond":     func(b []byte) { le.PutUint16(b[offShstrndx:], 0xff00) },
		"e_shstrndx escaped":    func(b []byte) { le.PutUint16(b[offShstrndx:], shnXIndex) },
	} {
		t.Run(name, func(*testing.T) {
			data := everything(t, build{wide: true})
			edit(data)
			attempt(data)
		})
	}
}

// Section headers that are useless do not matter where program headers tell what
// is loaded.
func TestUselessSectionHeaders(t *testing.T) {
	data := everything(t, build{wide: true})
	binary.LittleEndian.PutUint16(data[offShentsize:], 63)
	img := parse(t, data)
	if !img.Segments.Executable(0x1000) || string(img.BuildID) != "identity" {
		t.Errorf("header = %+v", img.Header)
	}
	if _, ok := img.Sections.Named(".text"); ok {
		t.Error(".text found")
	}
}

// More than 0xfeff sections: e_shnum is 0 and section 0 has the numbers.
func TestManySections(t *testing.T) {
	e := build{wide: true, secs: []sec{text(0x1000, 16), {name: ".comment", data: []byte("here")}}}
	data := e.bytes()
	le := binary.LittleEndian
	f, _ := newFile(&image.File{Data: data})
	le.PutUint64(data[f.sections.off+32:], uint64(f.sections.n))
	le.PutUint32(data[f.sections.off+40:], uint32(f.sections.n-1))
	le.PutUint16(data[offShnum:], 0)
	le.PutUint16(data[offShstrndx:], shnXIndex)
	if s, ok := parse(t, data).Sections.Named(".comment"); !ok || string(s.Data) != "here" {
		t.Errorf(".comment = %q, %t", s.Data, ok)
	}
}

func TestStringTableWithoutEnd(t *testing.T) {
	e := build{wide: true}
	tables := e.symtab(".symtab", ".strtab", tsym{name: "f", value: 0x1000, size: 16, info: globalFunc, shndx: 1})
	for i, str := range [][]byte{nil, {0}, {0, 'f'}, bytes.Repeat([]byte{'x'}, 1<<20)} {
		tables[1].data = str
		e.secs = append([]sec{text(0x1000, 16)}, tables...)
		img := parse(t, e.bytes())
		if s, _ := img.Symbols.At(0x1000); s.Name != "" {
			t.Errorf("%d: name %q", i, s.Name)
		}
		if _, ok := img.Symbols.Named("f"); ok {
			t.Errorf("%d: f found", i)
		}
	}
}

func TestOverlappingSegments(t *testing.T) {
	e := build{secs: []sec{text(0x1000, 0x100), {name: "over", flags: shfAlloc, addr: 0x1080, data: make([]byte, 0x100)}, {name: "same", flags: shfAlloc, addr: 0x1000, data: make([]byte, 0x80)}}}
	img := parse(t, e.bytes())
	end := uint64(0)
	for _, s := range img.Segments {
		if s.Addr < end || uint64(len(s.Data)) > s.Size {
			t.Errorf("segment = %+v", s)
		}
		end = s.Addr + s.Size
	}
	if end != 0x1180 || !img.Segments.Executable(0x10ff) || img.Segments.Executable(0x1100) {
		t.Errorf("segments = %+v", img.Segments)
	}
}

// The cost of a lookup, a binary search and a bounded number of symbols, does not depend on how the symbols lie, many
// that cover everything, nest, or share one address.
func TestCostOfManySymbols(t *testing.T) {
	const n = 20_000
	for name, place := range map[string]func(i uint64) tsym{
		"nested":    func(i uint64) tsym { return tsym{value: 0x1000 + i, size: 4*n - 2*i} },
		"same":      func(uint64) tsym { return tsym{value: 0x1000} },
		"huge":      func(i uint64) tsym { return tsym{value: 0x1000 + i, size: 1 << 40} },
		"unsized":   func(i uint64) tsym { return tsym{value: 0x1000 + i} },
		"backwards": func(i uint64) tsym { return tsym{value: 0x1000 + n - i, size: n} },
	} {
		list := make([]tsym, n)
		for i := range list {
			list[i] = place(uint64(i))
			list[i].info, list[i].shndx, list[i].name = localFunc, 1, "f"
		}
		img := withSymbols(t, build{wide: true}, list...)
		for i := range uint64(n) {
			img.Symbols.At(0x1000 + i)
		}
		if got := len(img.Container().(*container).index().entries); got > n {
			t.Errorf("%s: %d entries", name, got)
		}
	}
}

// TestManyAliases: of many names of one address an index finds the best, as the scans before do.
func TestManyAliases(t *testing.T) {
	list := make([]tsym, 4*maxAliases)
	for i := range list {
		list[i] = tsym{name: fmt.Sprint("empty", 1000+i), value: 0x1000, size: 16, info: localFunc, shndx: 1}
	}
	list[7].name, list[9].info = "f", globalFunc
	img := withSymbols(t, build{wide: true}, list...)
	for i := range 2 * maxScans {
		if s, _ := img.Symbols.At(uint64(0x1000 + i%16)); s.Name != "empty1009" {
			t.Fatalf("lookup %d: %q", i, s.Name)
		}
	}
}

// TestAliasedSegments: a part of a file that many segments show is loaded twice at most,
// and an issue says where that ends.
func TestAliasedSegments(t *testing.T) {
	e := build{wide: true, secs: []sec{text(0x1000, 1<<16)}}
	for i := range uint64(50) {
		e.secs = append(e.secs, sec{name: fmt.Sprint(i), flags: shfAlloc | shfExecinstr, addr: 0x100000 * (i + 1), data: make([]byte, 1<<10)})
	}
	data := e.bytes()
	f, _ := newFile(&image.File{Data: data})
	for i := 1; i < f.segments.n; i++ { // all show what the first does
		h := data[f.segments.off+uint64(i)*f.segments.size:]
		copy(h[8:16], data[f.segments.off+8:])
		binary.LittleEndian.PutUint64(h[32:], 1<<16)
		binary.LittleEndian.PutUint64(h[40:], 1<<16)
	}
	img := parse(t, data)
	if n := img.Segments.LoadedBytes(); n == 0 || n > 2*uint64(len(data)) {
		t.Errorf("%d bytes are loaded of %d", n, len(data))
	}
	if len(img.Issues) != 1 || !strings.Contains(img.Issues[0], "bytes loaded from the file; it and those behind it are not used") {
		t.Errorf("issues %q", img.Issues)
	}
}

// TestAliasedNotes: of note segments that all show the same notes, no more is read than
// the file is long, so that the build ID behind them is not reached.
func TestAliasedNotes(t *testing.T) {
	id := []byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00id\x00\x00")
	for aliases, want := range map[int]string{0: "id", maxPhdrs - 4: ""} {
		e := build{wide: true, secs: []sec{text(0x1000, 16),
			{name: "notes", flags: shfAlloc, addr: 0x2000, data: make([]byte, 4<<20)}, {name: "id", flags: shfAlloc, addr: 0x50_0000, data: id}}}
		for range aliases {
			e.phdrs = append(e.phdrs, ph{ptNote, "notes"})
		}
		e.phdrs = append(e.phdrs, ph{ptNote, "id"})
		if img := parse(t, e.bytes()); string(img.BuildID) != want {
			t.Errorf("behind %d aliases: build ID %q, want %q", aliases, img.BuildID, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range variants() {
		f.Add(everything(f, e))
		slots := []trel{{off: importsGOT, sym: 1, typ: rX8664GlobDat}, {off: importsGOT + 8, sym: 2, typ: rMIPSRel32}}
		f.Add(e.withImports(slots, slots, true, importsText,
			dtPltgot, importsGOT, dtMIPSLocalGotno, 2, dtMIPSGotsym, 2, dtMIPSSymtabno, 5).bytes())
	}
	e := build{wide: true, noSections: true, secs: []sec{text(0x1000, 16)}}
	f.Add(e.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := parseAs("fuzz", data)
		if err != nil {
			return
		}
		meter.Allocations(t, len(data), func() { touch(img) })
		for _, s := range img.Segments {
			if uint64(len(s.Data)) > s.Size || len(s.Data) > len(data) {
				t.Errorf("segment %#x: %d bytes of %#x", s.Addr, len(s.Data), s.Size)
			}
		}
		if s, ok := img.Symbols.At(img.Entry); ok && len(s.Name) > maxName {
			t.Errorf("name of %d bytes", len(s.Name))
		}
	})
}

func Example() {
	e := build{wide: true}
	e.secs = append([]sec{text(0x401000, 0x100)}, e.symtab(".symtab", ".strtab",
		tsym{name: "main", value: 0x401010, size: 0x20, info: globalFunc, shndx: 1})...)
	img, err := parseAs("a.out", e.bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	s, _ := img.Symbols.At(0x401018)
	fmt.Printf("%s+%#x\n", s.Name, 0x401018-s.Addr)
	// Output: main+0x8
}

// TestJoinedSections: sections of one name are read one behind the other, and many that are the same
// bytes do not add up to more than a file may.
func TestJoinedSections(t *testing.T) {
	const name, copies, size = ".debug_types.dwo", 3000, 1 << 20
	e := build{wide: true, secs: []sec{{name: name, data: []byte("one")}, {name: name, data: []byte("two")}}}
	f, err := newFile(&image.File{Data: e.bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if got := joined(f, name); string(got) != "onetwo" {
		t.Errorf("%q", got)
	}
	e.secs = slices.Repeat([]sec{{name: name, data: []byte{0}}}, copies)
	e.secs[0].data = make([]byte, size)
	data := e.bytes()
	f, _ = newFile(&image.File{Data: data})
	first := f.sections.at(1)
	for i := 2; i <= copies; i++ {
		header := data[f.sections.off+uint64(i)*layout64.shdr:]
		binary.LittleEndian.PutUint64(header[24:], first.off)
		binary.LittleEndian.PutUint64(header[32:], size)
	}
	if got := len(joined(f, name)); got < 2*size || got > expansionFloor+(expansionPerByte+1)*len(data) {
		t.Errorf("%d bytes out of a file of %d", got, len(data))
	}
}
