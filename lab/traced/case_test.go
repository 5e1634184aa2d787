package traced

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/tracer"
	"github.com/backsight/backsight/lab/truth"
)

// TestAnswer: a handler interrupted the program: the trampoline is a frame of its own,
// behind it stands the interrupted instruction, and last main's caller.
func TestAnswer(t *testing.T) {
	arch, ok := backsight.CPUs().ByName("mips", "o32", false)
	if !ok {
		t.Fatal("no such CPU")
	}
	c := New(Place{Dir: t.TempDir()}, "sed", arch)
	a := c.answer(&tracer.Capture{Step: 9, Kind: "signal", Chain: []tracer.Activation{
		{Ret: 0xf000, CFA: 0x7c00, Start: 0x9000},
		{Ret: 0x2008, CFA: 0x7ff0, Start: 0xf000, Signal: true},
		{Ret: 0x1004, CFA: 0x8000, Start: 0x2000},
	}}, 0x9004)
	want := []struct {
		pc    truth.Hex
		kind  string
		known bool
	}{{0x9004, "signal", true}, {0xf000, "sigtramp", false}, {0x2008, "interrupted", true}, {0x1004, "main-caller", false}}
	if len(a.Frames) != len(want) || !a.ModeBit {
		t.Fatalf("%+v", a)
	}
	for i, w := range want {
		if f := a.Frames[i]; f.PC != w.pc || f.Kind != w.kind || (f.CFA != nil) != w.known {
			t.Errorf("frame %d: %+v, want %+v", i, f, w)
		}
	}
}

// TestInnermost: the innermost frame is where the capture's PC stands, whatever the CPU
// calls that register.
func TestInnermost(t *testing.T) {
	for _, name := range []string{"x86_64", "i386", "aarch64"} {
		arch, ok := backsight.CPUs().ByName(name, "", false)
		if !ok {
			t.Fatal("no such CPU: ", name)
		}
		c := New(Place{Dir: t.TempDir()}, "sed", arch)
		c.add(&tracer.Capture{Regs: map[string]truth.Hex{"pc": 0x9004}, Chain: []tracer.Activation{{Ret: 0x1004, CFA: 0x8000, Start: 0x9000}}})
		if got := c.answers[0].Frames[0].PC; got != 0x9004 {
			t.Errorf("%s: the innermost frame is at %#x", name, uint64(got))
		}
	}
}

// TestMappedTwice: a program that has mapped its own file as data lies where chains lead through.
func TestMappedTwice(t *testing.T) {
	var file bytes.Buffer
	binary.Write(&file, binary.LittleEndian, elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_AARCH64), Version: uint32(elf.EV_CURRENT), Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1})
	binary.Write(&file, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Filesz: 0x1000, Memsz: 0x1000, Align: 0x1000})
	file.Write(make([]byte, 0x1000-file.Len()))
	program := filepath.Join(t.TempDir(), "swipl")
	if err := os.WriteFile(program, file.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	arch, _ := backsight.CPUs().ByName("aarch64", "", false)
	c := New(Place{Program: program}, "swipl", arch)
	defer c.Close()
	data, code := tracer.Image{Path: program, Base: 0x3000000, Size: 0x1000}, tracer.Image{Path: program, Base: 0x4000000, Size: 0x1000}
	captures := []tracer.Capture{{Before: 0x9000, Chain: []tracer.Activation{{Ret: 0x4000800}}}}
	if err := c.open(&tracer.Trace{Images: []tracer.Image{data, code}, Captures: captures}); err != nil {
		t.Fatal(err)
	}
	if c.images[0].bias != 0x4000000 {
		t.Errorf("the program lies at %#x", c.images[0].bias)
	}
}
