package compact

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/unwind"
)

func archs() (set cpu.Set) {
	return append(append(append(set, x86.Archs()...), arm64.Archs()...), arm.Archs()...)
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T, path string, cpuType cpu.MachOType) *image.Image {
	t.Helper()
	opt := image.Options{Archs: archs()}
	opt.Arch, _ = opt.Archs.ByMachO(cpuType)
	img, err := image.Parse(path, contents(t, path), []image.Format{macho.Format()}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestEntriesEqualObjdump compares all entries of binaries that Apple's linker made with what
// llvm-objdump says of them: where a function begins, and its encoding.
func TestEntriesEqualObjdump(t *testing.T) {
	dir := recorded.Shared(t, "inputs", "apple", "plcr-bins")
	dumps, _ := filepath.Glob(filepath.Join(dir, "*.unwind.txt"))
	compared := 0
	for _, dump := range dumps {
		name, arch, _ := cutLast(strings.TrimSuffix(filepath.Base(dump), ".unwind.txt"))
		types := map[string]cpu.MachOType{"x86_64": 0x0100_0007, "i386": 7, "arm64": 0x0100_000c, "armv7": 12, "armv7s": 12}
		img := open(t, filepath.Join(dir, name), types[arch])
		var got []string
		at := img.Table(image.CompactUnwind)
		compactunwind.Of(img).Entries(func(e compactunwind.Entry) bool {
			got = append(got, fmt.Sprintf("%#08x %#08x", e.Lo-at.Base, uint32(e.Encoding)))
			return true
		})
		var want []string
		for s := bufio.NewScanner(bytes.NewReader(contents(t, dump))); s.Scan(); {
			if f := strings.Fields(s.Text()); len(f) == 4 && f[1] == "function" && strings.HasPrefix(f[3], "encoding") {
				_, off, _ := strings.Cut(strings.TrimSuffix(f[2], ","), "=")
				_, enc, _ := strings.Cut(f[3], "=")
				want = append(want, fmt.Sprintf("%#08x %#08x", number(off), number(enc)))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d entries, want %d\n%v\n%v", dump, len(got), len(want), got[:min(3, len(got))], want[:min(3, len(want))])
		}
		compared += len(want)
	}
	if compared < 100 {
		t.Errorf("only %d entries compared", compared)
	}
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	return s[:max(i, 0)], s[i+1:], i > 0
}

func number(s string) (v uint64) {
	fmt.Sscan(s, &v)
	return v
}

// TestRulesEqualUnwindinfodump compares the rules of all entries of real programs with what
// framehop's unwindinfodump says: the CFA, and where registers are saved. Of arm64 it gives
// pairs of registers in an order of its own, so that only the CFA counts there.
func TestRulesEqualUnwindinfodump(t *testing.T) {
	dir := recorded.Shared(t, "inputs", "apple", "framehop")
	for file, cpuType := range map[string]cpu.MachOType{
		"x86_64/fp/libmozglue": 0x0100_0007, "x86_64/nofp/libmozglue": 0x0100_0007, "arm64/fp/query-api": 0x0100_000c,
	} {
		binary := filepath.Join(dir, file+".dylib.gz")
		if _, err := os.Stat(binary); err != nil {
			binary = filepath.Join(dir, file+".gz")
		}
		img := open(t, binary, cpuType)
		base, compared := img.Table(image.CompactUnwind).Base, 0
		for s := bufio.NewScanner(bytes.NewReader(contents(t, filepath.Join(dir, file+"-unwindinfodump.txt.gz")))); s.Scan(); {
			line, is := strings.CutPrefix(s.Text(), "  0x")
			off, want, _ := strings.Cut(line, ": ")
			if !is || want == "(uncovered)" || want == "frameless indirect" {
				continue
			}
			compared++
			if got := said(img, base+number("0x"+off)); !same(got, want, img.Arch) {
				t.Errorf("%s: %#x: %s, want %s", file, number("0x"+off), got, want)
			}
		}
		if compared < 100 {
			t.Errorf("%s: only %d entries compared", file, compared)
		}
	}
}

// same compares what said says with a line of a dump.
func same(got, want string, arch *cpu.Arch) bool {
	if arch.Name == "aarch64" {
		got, _, _ = strings.Cut(got, ":")
		want, _, _ = strings.Cut(want, ":")
	}
	parts := func(s string) []string {
		_, registers, _ := strings.Cut(s, ": ")
		list := strings.Split(registers, ", ")
		slices.Sort(list)
		return list
	}
	cfa, _, _ := strings.Cut(want, ":")
	return strings.HasPrefix(got, cfa) && slices.Equal(parts(got), parts(want))
}

// said is the rule of an address as unwindinfodump writes it.
func said(img *image.Image, pc uint64) string {
	e, _ := compactunwind.Of(img).Find(pc)
	if fde, ok := compactunwind.Of(img).FDE(e.Encoding); ok {
		return fmt.Sprintf("(check eh_frame FDE %#x)", fde)
	}
	var rule stackwalk.Rule
	rule.Reset()
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}
	if v := (Source{}).Rule(&q, &rule); v != unwind.Found {
		return v.String()
	}
	dwarf := func(r cpu.Reg) int { return img.Arch.Regs[r].DWARF }
	s := fmt.Sprintf("CFA=reg%d", dwarf(rule.CFA.Base))
	if rule.CFA.Off != 0 {
		s += fmt.Sprintf("%+d", rule.CFA.Off)
	}
	if rule.RA.Kind != stackwalk.AtCFA {
		return s
	}
	s += fmt.Sprintf(": reg%d=[CFA%+d]", dwarf(img.Arch.PC), rule.RA.Off)
	for i := range rule.N {
		s += fmt.Sprintf(", reg%d=[CFA%+d]", dwarf(rule.Regs[i].Reg), rule.Regs[i].Off)
	}
	return s
}
