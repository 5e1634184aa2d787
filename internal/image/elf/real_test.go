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
	"github.com/backsight/backsight/internal/synth/recorded"
)

func runTool(name string, args ...string) error { return exec.Command(name, args...).Run() }

// symbolFiles are programs with symbols: testdata's, and larger ones where they are
// at hand.
func symbolFiles(t testing.TB) (files []string) {
	for _, name := range []string{
		"modes/a32.elf", "modes/t32.elf", "modes/mips16.elf", "modes/micromips.elf",
		"mips-deref/modules/usr/bin/netd", "aarch64-signal/modules/usr/bin/sensor", "x86_64-threads/modules/usr/bin/server",
	} {
		files = append(files, recorded.Testdata(t, name))
	}
	for _, c := range recorded.Cases(t, "*/*") {
		if file, ok := recorded.Program(t, &c, "sym"); ok {
			files = append(files, file)
		}
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
	for _, path := range symbolFiles(t) {
		img := openReal(t, path)
		mode := uint64(0)
		if img.Arch.ISABit {
			mode = 1
		}
		names := nm(t, path, mode)
		seen := 0
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, size uint64) bool {
			seen++
			if len(names[addr]) == 0 {
				return true // nameless: a linker's stub
			}
			s, ok := img.Symbols.At(addr)
			if !ok || s.Addr != addr {
				t.Errorf("%s: SymbolAt(%#x) = %+v, %t", path, addr, s, ok)
			}
			if list := names[addr]; !slices.Contains(list, s.Name) {
				t.Errorf("%s: %#x is %q, nm says %q", path, addr, s.Name, list)
			}
			return true
		})
		if seen < 5 {
			t.Errorf("%s: %d functions", path, seen)
		}
		for _, name := range []string{"main", "memcpy", "abort"} {
			if !named(names, name) {
				continue
			}
			if s, ok := img.Symbols.Named(name); !ok || !slices.Contains(names[s.Addr], name) {
				t.Errorf("%s: SymbolNamed(%s) = %+v, %t", path, name, s, ok)
			}
		}
	}
}

// named tells whether nm lists a function of this name.
func named(names map[uint64][]string, name string) bool {
	for _, list := range names {
		if slices.Contains(list, name) {
			return true
		}
	}
	return false
}

// The mode of main follows the compiler's options.
func TestModes(t *testing.T) {
	for name, want := range map[string]cpu.Mode{
		"modes/a32.elf": 0, "modes/t32.elf": 1, "modes/mips16.elf": 1, "modes/micromips.elf": 1,
		"mips-deref/modules/usr/bin/netd": 0, "x86_64-threads/modules/usr/bin/server": 0,
	} {
		if s, ok := openReal(t, recorded.Testdata(t, name)).Symbols.Named("main"); !ok || s.Mode != want || s.Addr&1 != 0 {
			t.Errorf("%s: main = %+v, want mode %d", name, s, want)
		}
	}
}

// Naked files have code and nothing that leads through it.
func TestNaked(t *testing.T) {
	for _, path := range recorded.Programs(t, "*/*", "naked") {
		img := openReal(t, path)
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			t.Errorf("%s: function at %#x", path, addr)
			return false
		})
		for _, name := range []string{".symtab", ".eh_frame", ".eh_frame_hdr", ".ARM.exidx", ".debug_frame", ".debug_info"} {
			if s, ok := img.Sections.Named(name); ok && len(bytes.Trim(s.Data, "\x00")) > 0 {
				t.Errorf("%s has %s", path, name)
			}
		}
		if !img.Segments.Executable(img.Entry &^ 1) {
			t.Errorf("%s: entry %#x is not code", path, img.Entry)
		}
	}
}

// The build ID is the same in a file and in its stripped form.
func TestRealBuildIDs(t *testing.T) {
	strip, err := exec.LookPath("strip")
	if err != nil {
		t.Skip("optional comparison: ", err)
	}
	full := recorded.Testdata(t, "x86_64-threads/modules/usr/bin/server")
	bare := filepath.Join(t.TempDir(), "server")
	if err := runTool(strip, "-o", bare, full); err != nil {
		t.Skip("strip knows no x86-64: ", err)
	}
	id := openReal(t, bare).BuildID
	if len(id) != 20 || !bytes.Equal(id, openReal(t, full).BuildID) {
		t.Errorf("%x and %x", id, openReal(t, full).BuildID)
	}
}

func TestARMProfileOfFirmware(t *testing.T) {
	for name, path := range recorded.Programs(t, "*/*", "naked") {
		img := openReal(t, path)
		if want := strings.HasPrefix(name, "cortexm3/"); (img.Arch.ABI == "m") != want {
			t.Errorf("%s is %s %s", name, img.Arch.Name, img.Arch.ABI)
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
		s, ok := img.Symbols.Named("LLVMGetUndef")
		if at, found := img.Symbols.At(s.Addr + 4); !ok || !found || at.Addr != s.Addr {
			b.Fatalf("%+v, %t; %+v, %t", s, ok, at, found)
		}
		img.Close()
	}
}

func BenchmarkSymbolAt(b *testing.B) {
	img := openReal(b, libLLVM(b))
	s, _ := img.Symbols.Named("LLVMGetUndef")
	b.ReportAllocs()
	for b.Loop() {
		img.Symbols.At(s.Addr + 4)
	}
}
