package elfcore

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// runtime is a container of a run-time with the descriptor at 0x1000.
type runtime struct{}

func (runtime) Section(name string) (image.Section, bool) {
	return image.Section{Data: []byte("\x00" + jitSymbol + "\x00")}, name == ".dynstr"
}
func (runtime) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (runtime) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (runtime) SymbolNamed(name string) (image.Symbol, bool) {
	return image.Symbol{Name: name, Addr: 0x1000}, name == jitSymbol
}
func (runtime) Close() error { return nil }

// TestJIT: files that a run-time registered become modules at the addresses that they state; one that is damaged is an issue, one over
// another module is left out, and a list that leads back to its beginning ends.
func TestJIT(t *testing.T) {
	const bias, first, second, third, damaged, elfAt = 0x50_0000, 0x1000, 0x1040, 0x1080, 0x10c0, 0x2000
	code, err := os.ReadFile(recorded.Testdata(t, "shadow-stacks/modules/deep.aarch64"))
	if err != nil {
		t.Fatal(err)
	}
	archs := cpu.Set(arm64.Archs())
	arch := archs[0]
	memory := append(make([]byte, elfAt), code...)
	word := func(at int, vs ...uint64) {
		for i, v := range vs {
			binary.LittleEndian.PutUint64(memory[at+8*i:], v)
		}
	}
	const at = 0x70_0000
	word(0x110, 0, at+first)                                      // relevant_entry, first_entry
	word(first, at+second, 0, at+elfAt, uint64(len(code)))        // good
	word(second, at+third, 0, at+elfAt, uint64(len(code)))        // again, over the first
	word(third, at+damaged, 0, at+elfAt+1, uint64(len(code)-1))   // no ELF file
	word(damaged, at+first, 0, at+elfAt, uint64(len(memory))<<20) // longer than memory
	var b target.Builder
	b.Add(at, memory, 0, target.PermRead)
	b.Add(bias+0x1000, memory[0x108:0x120], 0, target.PermRead)
	files := input.NewFiles(input.FileOptions{Archs: archs, Formats: []image.Format{elf.Format()}})
	defer files.Close()
	img := image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: 0x1000, Size: 0x1000}}}, runtime{})
	f := finder{name: "core", found: new(problems), binaries: binaries{files: files},
		space:   &space{file: &file{pages: input.PagesOf(memory)}, arch: arch, captured: b.Memory(arch)},
		modules: modules{mask: ^uint64(0), list: []*target.Module{target.NewModule("libjit.so", img, bias)}}}
	f.jitted()
	if n := len(f.modules.list); n != 2 || len(f.found.list) != 1 {
		t.Fatalf("%d modules, issues %v", n, f.found.list)
	}
	if m := f.modules.list[1]; m.Name != "[jit 0x702000]" || m.Bias != 0 || !m.Contains(0x201210) {
		t.Errorf("%+v", m)
	}
}
