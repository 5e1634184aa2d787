package elf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

const truth = "../../../shared/truth/public"

func runTool(name string, args ...string) error { return exec.Command(name, args...).Run() }

// realFiles returns the recorded programs of one name, with their symbols
// (sym.elf), stripped or naked.
func realFiles(t testing.TB, name string) []string {
	files, _ := filepath.Glob(filepath.Join(truth, "*", "*", name))
	if len(files) == 0 {
		t.Skip("no recorded programs")
	}
	return files
}

func openReal(t testing.TB, path string) *image.Image {
	t.Helper()
	img, err := Open(path, options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

// nm lists the symbols of code by address, without the bits that are ISA mode.
func nm(t *testing.T, path string, mode uint64) map[uint64][]string {
	out, err := exec.Command("nm", "--defined-only", path).Output()
	if err != nil {
		t.Skip("no nm: ", err)
	}
	names := map[uint64][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.Contains("tTwWi", f[1]) || f[2][0] == '$' {
			continue
		}
		addr, _ := strconv.ParseUint(f[0], 16, 64)
		addr &^= mode
		names[addr] = append(names[addr], f[2])
	}
	return names
}

func TestSymbolsEqualNM(t *testing.T) {
	for _, path := range realFiles(t, "sym.elf") {
		img := openReal(t, path)
		mode := uint64(0)
		if img.Arch.ISABit {
			mode = 1
		}
		names := nm(t, path, mode)
		seen := 0
		img.Functions(func(addr uint64, _ cpu.Mode, size uint64) bool {
			seen++
			if len(names[addr]) == 0 {
				return true // nameless: a linker's stub
			}
			s, ok := img.SymbolAt(addr)
			if !ok || s.Addr != addr {
				t.Errorf("%s: SymbolAt(%#x) = %+v, %t", path, addr, s, ok)
			}
			if list := names[addr]; !slices.Contains(list, s.Name) {
				t.Errorf("%s: %#x is %q, nm says %q", path, addr, s.Name, list)
			}
			return true
		})
		if seen < 1000 {
			t.Errorf("%s: %d functions", path, seen)
		}
		for _, name := range []string{"main", "memcpy", "abort"} {
			if s, ok := img.SymbolNamed(name); !ok || !slices.Contains(names[s.Addr], name) {
				t.Errorf("%s: SymbolNamed(%s) = %+v, %t", path, name, s, ok)
			}
		}
	}
}

// The mode of main follows the compiler's options.
func TestModes(t *testing.T) {
	for dir, want := range map[string]cpu.Mode{"mips": 0, "mips16": 1, "armarm": 0, "armt2": 1, "x86_64": 0} {
		path := filepath.Join(truth, dir, "pub-gcc-O2", "sym.elf")
		if _, err := os.Stat(path); err != nil {
			t.Skip("no recorded programs")
		}
		if s, ok := openReal(t, path).SymbolNamed("main"); !ok || s.Mode != want || s.Addr&1 != 0 {
			t.Errorf("%s: main = %+v, want mode %d", dir, s, want)
		}
	}
}

// Naked files have code and nothing that leads through it.
func TestNaked(t *testing.T) {
	for _, path := range realFiles(t, "naked.elf") {
		img := openReal(t, path)
		img.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			t.Errorf("%s: function at %#x", path, addr)
			return false
		})
		for _, name := range []string{".symtab", ".eh_frame", ".eh_frame_hdr", ".ARM.exidx", ".debug_frame", ".debug_info"} {
			if s, ok := img.Section(name); ok && len(bytes.Trim(s.Data, "\x00")) > 0 {
				t.Errorf("%s has %s", path, name)
			}
		}
		if !img.Executable(img.Entry &^ 1) {
			t.Errorf("%s: entry %#x is not code", path, img.Entry)
		}
	}
}

// The build ID is the same in a file and in its stripped form.
func TestRealBuildIDs(t *testing.T) {
	for _, path := range realFiles(t, "stripped.elf") {
		id := openReal(t, path).BuildID
		full := openReal(t, strings.Replace(path, "stripped", "sym", 1))
		if len(id) != 20 || !bytes.Equal(id, full.BuildID) {
			t.Errorf("%s: %x and %x", path, id, full.BuildID)
		}
	}
}

func TestARMProfileOfFirmware(t *testing.T) {
	for _, path := range realFiles(t, "naked.elf") {
		img := openReal(t, path)
		if want := strings.Contains(path, "cortexm3"); (img.Arch.ABI == "m") != want {
			t.Errorf("%s is %s %s", path, img.Arch.Name, img.Arch.ABI)
		}
	}
}

// libLLVM is what a large shared library looks like: 110 MB, 40 000 symbols.
func libLLVM(b *testing.B) string {
	for _, path := range []string{"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/llvm-14/lib/libLLVM-14.so.1"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	b.Skip("no libLLVM-14")
	return ""
}

func BenchmarkOpen(b *testing.B) {
	path := libLLVM(b)
	b.ReportAllocs()
	for b.Loop() {
		img, err := Open(path, options())
		if err != nil {
			b.Fatal(err)
		}
		img.Close()
	}
}

func BenchmarkFirstSymbol(b *testing.B) {
	path := libLLVM(b)
	b.ReportAllocs()
	for b.Loop() {
		img, err := Open(path, options())
		if err != nil {
			b.Fatal(err)
		}
		s, ok := img.SymbolNamed("LLVMGetUndef")
		if at, found := img.SymbolAt(s.Addr + 4); !ok || !found || at.Addr != s.Addr {
			b.Fatalf("%+v, %t; %+v, %t", s, ok, at, found)
		}
		img.Close()
	}
}

func BenchmarkSymbolAt(b *testing.B) {
	img := openReal(b, libLLVM(b))
	s, _ := img.SymbolNamed("LLVMGetUndef")
	b.ReportAllocs()
	for b.Loop() {
		img.SymbolAt(s.Addr + 4)
	}
}
