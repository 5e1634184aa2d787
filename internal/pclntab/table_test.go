package pclntab

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	imageelf "github.com/backsight/backsight/internal/image/elf"
)

// The text of the programs below is 0x100 bytes at 0x1000:
//
//	0x1000  main.work   height 0 for 4 bytes, 32 for 0x38, 0 for 4; line 10, then 12; f.go
//	0x1040  (nothing: padding belongs to main.work)
//	0x1080  runtime.goexit, outermost
const textBase, textSize = 0x1000, 0x100

// program is a table with two functions as the linker of Go 1.20 writes them.
func program(order binary.AppendByteOrder, word int, quantum byte, text uint64) []byte {
	names := []byte("main.work\x00runtime.goexit\x00")
	files := []byte("f.go\x00")
	units := order.AppendUint32(nil, 0)
	q := func(n int) byte { return byte(n / int(quantum)) }
	values := []byte{0, // no table begins at 0
		2, q(4), 64, q(0x38), 63, q(4), 0, // heights: -1 + 1, + 32, - 32
		22, q(8), 4, q(0x38), 0, // lines: -1 + 11, + 2
		2, q(0x40), 0} // files: -1 + 1
	record := func(entry, name, sp, line, file uint32, flag byte) (b []byte) {
		for _, v := range []uint32{entry, name, 0, 0, sp, file, line, 0, 0, 9} {
			b = order.AppendUint32(b, v)
		}
		return append(b, 0, flag, 0, 0)
	}
	const functab = 3 * entrySize
	var functions []byte
	for _, v := range []uint32{0, functab, 0x80, functab + recordEnd + 4, textSize, 0} {
		functions = order.AppendUint32(functions, v)
	}
	functions = append(functions, record(0, 0, 1, 8, 13, 0)...)
	functions = append(functions, record(0x80, 10, 0, 0, 0, 1)...)

	number := func(b []byte, v uint64) []byte {
		if word == 8 {
			return order.AppendUint64(b, v)
		}
		return order.AppendUint32(b, uint32(v))
	}
	out := append(order.AppendUint32(nil, go120), 0, 0, quantum, byte(word))
	at := uint64(8 + 8*word)
	for _, v := range []uint64{2, 1, text} {
		out = number(out, v)
	}
	parts := [][]byte{names, units, files, values, functions}
	for _, p := range parts {
		out = number(out, at)
		at += uint64(len(p))
	}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// withTable is an image whose section .gopclntab has data.
type withTable struct {
	image.Container
	data []byte
}

func (w withTable) Section(name string) (image.Section, bool) {
	return image.Section{Name: name, Data: w.data}, name == ".go.buildinfo" || name == ".gopclntab"
}
func (w withTable) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (w withTable) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (w withTable) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (w withTable) Close() error                                  { return nil }
func imageOf(arch *cpu.Arch, data []byte) *image.Image {
	text := image.Segment{Addr: textBase, Size: textSize, Data: make([]byte, textSize), Exec: true}
	return image.New(image.Header{Arch: arch, Segments: []image.Segment{text}}, withTable{data: data})
}

// processors are those that differ in word size, byte order and instruction size.
var processors = []struct {
	archs   []*cpu.Arch
	name    string
	big     bool
	quantum byte
}{
	{x86.Archs(), "x86_64", false, 1},
	{arm64.Archs(), "aarch64", false, 4},
	{mips.Archs(), "mips", true, 4},
}

func TestTable(t *testing.T) {
	for _, p := range processors {
		t.Run(p.name, func(t *testing.T) {
			arch, order := archOf(t, p.archs, p.name, p.big), binary.AppendByteOrder(binary.LittleEndian)
			if p.big {
				order = binary.BigEndian
			}
			img := imageOf(arch, program(order, arch.AddrSize, p.quantum, textBase))
			tab := Of(img)
			for _, want := range []struct {
				pc     uint64
				name   string
				height int64
				line   int
				top    bool
			}{
				{0x1000, "main.work", 0, 10, false},
				{0x1004, "main.work", 32, 10, false},
				{0x1008, "main.work", 32, 12, false},
				{0x103b, "main.work", 32, 12, false},
				{0x103c, "main.work", 0, 12, false},
				{0x1040, "main.work", -1, 0, false}, // the tables end before
				{0x1080, "runtime.goexit", -1, 0, true},
				{0x10ff, "runtime.goexit", -1, 0, true},
			} {
				f, ok := tab.At(want.pc)
				height, known := f.Height(want.pc)
				if !known {
					height = -1
				}
				file, line, _ := f.source(want.pc)
				if places := Places(img, want.pc); len(places) > 1 || len(places) == 1 != (line != 0) {
					t.Errorf("%#x: %v", want.pc, places)
				}
				if !ok || f.Name() != want.name || height != want.height || line != want.line || (file == "f.go") != (line != 0) || f.TopFrame() != want.top {
					t.Errorf("%#x: %s, height %d, %s:%d, top %t; want %+v", want.pc, f.Name(), height, file, line, f.TopFrame(), want)
				}
			}
			for _, pc := range []uint64{0, 0xfff, 0x1100, 1 << 40} {
				if f, ok := tab.At(pc); ok {
					t.Errorf("%#x: %s, where there is no function", pc, f.Name())
				}
			}
		})
	}
}

// archOf is the processor of a name and byte order.
func archOf(t testing.TB, archs []*cpu.Arch, name string, big bool) *cpu.Arch {
	t.Helper()
	for _, a := range archs {
		if a.Name == name && a.BigEndian == big {
			return a
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// TestDamagedTable: each byte of the table may lie. What is said then lies in the text.
func TestDamagedTable(t *testing.T) {
	arch := archOf(t, x86.Archs(), "x86_64", false)
	good := program(binary.LittleEndian, 8, 1, textBase)
	for i := range good {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			data := append([]byte(nil), good...)
			data[i] = v
			ask(t, imageOf(arch, data))
			ask(t, withoutHeaders(arch, data))
		}
		ask(t, imageOf(arch, good[:i]))
	}
}

// ask asks an image's table everything about a few addresses.
func ask(t *testing.T, img *image.Image) {
	tab := Of(img)
	for pc := uint64(textBase - 1); pc <= textBase+textSize; pc += 3 {
		f, ok := tab.At(pc)
		if !ok {
			continue
		}
		if pc < f.Lo || pc >= f.Hi || f.Hi > textBase+textSize {
			t.Fatalf("%#x is said to be in %#x to %#x", pc, f.Lo, f.Hi)
		}
		f.Name()
		f.Height(pc)
		Places(img, pc)
	}
}

// withoutHeaders is imageOf for a file that names no sections.
func withoutHeaders(arch *cpu.Arch, data []byte) *image.Image {
	img := imageOf(arch, nil)
	table := image.Segment{Addr: dataBase, Size: uint64(len(data)), Data: data, Write: true}
	return image.New(image.Header{Arch: arch, Segments: append(img.Segments, table)}, nil)
}

// dataBase is where the data of such a file lies.
const dataBase = 0x10000

func FuzzTable(f *testing.F) {
	arch := archOf(f, x86.Archs(), "x86_64", false)
	f.Add(program(binary.LittleEndian, 8, 1, textBase))
	f.Add(program(binary.LittleEndian, 8, 1, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		ask(t, imageOf(arch, data))
		ask(t, withoutHeaders(arch, data))
	})
}

// TestDisorder: a table whose functions do not ascend is none; the runtime would not start with it.
func TestDisorder(t *testing.T) {
	data := program(binary.LittleEndian, 8, 1, textBase)
	img := imageOf(archOf(t, x86.Archs(), "x86_64", false), data)
	for i := range 2 {
		at := Of(img).offsets[4] + uint64(i)*entrySize
		bad := append([]byte(nil), data...)
		binary.LittleEndian.PutUint32(bad[at:], textSize-uint32(i)*textSize/2)
		binary.LittleEndian.PutUint32(bad[at+entrySize:], textSize/4)
		if Of(imageOf(img.Arch, bad)) != nil {
			t.Errorf("function %d lies behind the next, and the table was read", i)
		}
	}
}

// TestToolchain: for each function of a program that the Go toolchain links here, stripped or loaded
// anywhere, names and lines are those that the standard library's reader has of the table of the
// plain program; the same where a packer took all headers of sections away.
func TestToolchain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the toolchain here makes no ELF files")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain")
	}
	for _, c := range []struct {
		processor string // "": this machine's
		flags     []string
	}{
		{"", []string{"-ldflags=-s -w"}},
		{"", []string{"-ldflags=-s -w", "-buildmode=pie"}},
		{"arm", []string{"-ldflags=-s -w"}},
	} {
		path := filepath.Join(t.TempDir(), "program")
		cmd := exec.Command("go", append(append([]string{"build", "-o", path}, c.flags...), "testdata/program.go")...)
		if c.processor != "" {
			cmd.Env = append(cmd.Environ(), "GOARCH="+c.processor)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("go build: %v\n%s", err, out)
		}
		for _, path := range []string{path, withoutSections(t, path)} {
			archs := slices.Concat(x86.Archs(), arm64.Archs(), arm.Archs())
			img, err := image.Open(path, []image.Format{Named(imageelf.Format())}, image.Options{Archs: archs})
			if err != nil {
				t.Skip(err)
			}
			compare(t, Of(img), standard(t, strings.TrimSuffix(path, packed), img))
			img.Close()
		}
	}
}

// packed is what the names of files without sections end in.
const packed = ".packed"

// withoutSections is a copy of an ELF file without the table of its sections' headers.
func withoutSections(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at, size, counts := 0x20, 4, 0x2e // e_shoff; e_shentsize, e_shnum, e_shstrndx
	if elf.Class(data[elf.EI_CLASS]) == elf.ELFCLASS64 {
		at, size, counts = 0x28, 8, 0x3a
	}
	clear(data[at : at+size])
	clear(data[counts : counts+6])
	if err := os.WriteFile(path+packed, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path + packed
}

// standard is the standard library's view of a program.
func standard(t *testing.T, path string, img *image.Image) *gosym.Table {
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := file.Section(".gopclntab")
	if s == nil {
		s = file.Section(".data.rel.ro.gopclntab")
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	tab, err := gosym.NewTable(nil, gosym.NewLineTable(data, Of(img).text))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// compare compares names at all functions, and lines at all instructions that were not inlined.
func compare(t *testing.T, tab *Table, want *gosym.Table) {
	if len(want.Funcs) < 100 || len(want.Funcs) != tab.count {
		t.Fatalf("%d functions, want %d", tab.count, len(want.Funcs))
	}
	lines := 0
	for i := range want.Funcs {
		w := &want.Funcs[i]
		f, ok := tab.At(w.Entry)
		if !ok || f.Name() != w.Name || f.Lo != w.Entry || f.Hi != w.End {
			t.Fatalf("%#x: %s %#x to %#x, want %s to %#x", w.Entry, f.Name(), f.Lo, f.Hi, w.Name, w.End)
		}
		for pc := f.Lo; pc < f.Hi; pc += 16 {
			if file, line, ok := f.source(pc); ok {
				wantFile, wantLine, _ := want.PCToLine(pc)
				if file != wantFile || line != wantLine {
					t.Fatalf("%#x: %s:%d, want %s:%d", pc, file, line, wantFile, wantLine)
				}
				lines++
			}
		}
	}
	if lines < 1000 {
		t.Errorf("%d lines", lines)
	}
}
