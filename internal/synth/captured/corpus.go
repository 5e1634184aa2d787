package captured

import (
	"bufio"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// Case is one recorded capture with its true call chain.
type Case struct {
	Prog     string
	Step     int
	Kind     string
	Frames   []TrueFrame
	Snapshot *target.Snapshot
}

// TrueFrame is one activation of the true chain; CFA is nil where not known.
type TrueFrame struct {
	PC    Hex
	CFA   *Hex
	Func  string
	Entry Hex
	Kind  string
}

// Hex is a number that JSON holds as a string "0x…".
type Hex uint64

// UnmarshalJSON reads "0x1f".
func (h *Hex) UnmarshalJSON(b []byte) error {
	s, err := strconv.Unquote(string(b))
	if err != nil {
		return err
	}
	v, err := strconv.ParseUint(s, 0, 64)
	*h = Hex(v)
	return err
}

type capture struct {
	Arch, Endian, ABI string
	Regs              map[string]Hex
	Memory            []struct {
		Base  Hex
		Bytes []byte
	}
}

// Corpus reads the cases of one directory of the recorded truth, such as
// "mips/pub-gcc-O2", with the program's file named (sym.elf, naked.elf). root is
// the truth's public directory; the test is skipped where it is missing.
func Corpus(t testing.TB, root, dir, program string) []Case {
	t.Helper()
	dir = filepath.Join(root, dir)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no recorded truth: ", err)
	}
	mod := module(t, filepath.Join(dir, program))
	var cases []Case
	lines(t, filepath.Join(dir, "truth.jsonl.gz"), func(d *json.Decoder) error {
		var c Case
		err := d.Decode(&c)
		if err == nil {
			cases = append(cases, c)
		}
		return err
	})
	i := 0
	lines(t, filepath.Join(dir, "snaps.jsonl.gz"), func(d *json.Decoder) error {
		var c capture
		err := d.Decode(&c)
		if err == nil && i < len(cases) {
			cases[i].Snapshot = c.snapshot(mod)
			i++
		}
		return err
	})
	return cases[:i]
}

// lines decodes a compressed stream of JSON values.
func lines(t testing.TB, path string, decode func(*json.Decoder) error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(path, err)
	}
	d := json.NewDecoder(z)
	for err == nil {
		err = decode(d)
	}
	if err != io.EOF {
		t.Fatal(path, err)
	}
}

// module maps a statically linked program where its headers say.
func module(t testing.TB, path string) *target.Module {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := image.Header{Path: path, Arch: archOf(t, path, f), Entry: f.Entry}
	for _, p := range f.Progs {
		if p.Type == ptARMExIdx {
			h.Tables = []image.Table{{Kind: image.ExIdx, Range: image.Range{Addr: p.Vaddr, Size: p.Memsz}}}
		}
		if p.Type != elf.PT_LOAD {
			continue
		}
		data, err := io.ReadAll(p.Open())
		if err != nil {
			t.Fatal(path, err)
		}
		h.Segments = append(h.Segments, image.Segment{Addr: p.Vaddr, Size: p.Memsz, Data: data, FileOff: p.Off,
			Read: p.Flags&elf.PF_R != 0, Write: p.Flags&elf.PF_W != 0, Exec: p.Flags&elf.PF_X != 0})
	}
	m := &target.Module{Name: path, Image: image.New(h, nil)}
	m.Lo, m.Hi = m.Image.Bounds()
	return m
}

// ptARMExIdx is PT_ARM_EXIDX of AAELF32, "Program header".
const ptARMExIdx elf.ProgType = 0x7000_0001

func archOf(t testing.TB, path string, f *elf.File) *cpu.Arch {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := 36
	if f.Class == elf.ELFCLASS64 {
		at = 48
	}
	flags := f.ByteOrder.Uint32(raw[at:])
	a, ok := Archs().ByELF(uint16(f.Machine), byte(f.Class), f.Data == elf.ELFDATA2MSB, flags, profile(f))
	if !ok {
		t.Fatal(path, ": no descriptor for this file")
	}
	return a
}

// profile tells the two kinds of ARM programs in the corpus apart: Linux ones are
// linked above 64 KiB, those for Cortex-M at the bottom of the flash.
func profile(f *elf.File) byte {
	if f.Machine == elf.EM_ARM && f.Entry < 0x8000 {
		return 'M'
	}
	return 0
}

func (c *capture) snapshot(mod *target.Module) *target.Snapshot {
	arch := mod.Image.Arch
	var b target.Builder
	for _, s := range mod.Image.Segments {
		b.Add(s.Addr, s.Data, s.Size-uint64(len(s.Data)), target.PermUnknown)
	}
	for _, m := range c.Memory {
		b.Add(uint64(m.Base), m.Bytes, 0, target.PermUnknown)
	}
	regs := new(cpu.Registers)
	for name, v := range c.Regs {
		if r, ok := arch.RegByName(name); ok {
			regs.Set(r, uint64(v))
		}
	}
	s := &target.Snapshot{Arch: arch, Memory: b.Memory(arch), Modules: []*target.Module{mod}}
	s.Threads = []target.Thread{{ID: 1, Regs: *regs, Crashed: true}}
	return s
}
