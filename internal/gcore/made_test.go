package gcore

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// sparse is memory of which each third page is missing.
type sparse struct{}

func (sparse) ReadPage(addr uint64, buf []byte) (int, error) {
	if addr/page%3 == 2 {
		return 0, nil
	}
	for i := range buf {
		buf[i] = byte(addr / page)
	}
	return len(buf), nil
}

// TestMade: the registers are where readers look, pages that are there have their bytes, and others have a place without any.
func TestMade(t *testing.T) {
	for _, archs := range [][]*cpu.Arch{arm.Archs()[:1], mips.Archs(), x86.Archs()} {
		for _, a := range archs {
			p := Stopped{Arch: a, Memory: sparse{}, Maps: []procfs.Mapping{
				{Lo: 0x40_0000, Hi: 0x40_6000, Perms: "r-xp", Name: "/bin/toy", Inode: 1}, {Lo: 0x7000_0000, Hi: 0x7000_1000, Perms: "rw-p"}}}
			p.Threads = []target.Thread{{ID: 77, Name: "toy"}}
			p.Threads[0].Regs.Set(a.SP, 0x7000_0800)
			f := elfOf(t, Made(&p, Options{}))
			var flags []elf.ProgFlag
			sizes := [2]uint64{}
			for _, s := range f.Progs {
				if s.Type != elf.PT_LOAD {
					continue
				}
				flags = append(flags, s.Flags)
				sizes[0], sizes[1] = sizes[0]+s.Filesz, sizes[1]+s.Memsz
			}
			if sizes != [2]uint64{5 * page, 7 * page} || flags[0] != elf.PF_R|elf.PF_X || flags[len(flags)-1] != elf.PF_R|elf.PF_W {
				t.Errorf("%s: %d bytes of %d, %v", a, sizes[0], sizes[1], flags)
			}
			if got := prstatusSP(t, f, a); got != 0x7000_0800 {
				t.Errorf("%s: SP %#x", a, got)
			}
		}
	}
}

// TestMadeBounded: no more is copied than is asked for, and the rest has its place.
func TestMadeBounded(t *testing.T) {
	p := Stopped{Arch: x86.Archs()[0], Memory: sparse{}, Maps: []procfs.Mapping{{Lo: 0, Hi: 1 << 40, Perms: "rw-p"}}}
	f := elfOf(t, Made(&p, Options{Total: 8 * page}))
	var filled, size uint64
	for _, s := range f.Progs {
		if s.Type == elf.PT_LOAD {
			filled, size = filled+s.Filesz, size+s.Memsz
		}
	}
	if filled != 8*page || size != 1<<40 {
		t.Errorf("%d bytes of %#x", filled, size)
	}
}

func elfOf(t *testing.T, core *Core) *elf.File {
	t.Helper()
	data, err := io.ReadAll(core.Reader())
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// prstatusSP is the stack pointer in the first note.
func prstatusSP(t *testing.T, f *elf.File, a *cpu.Arch) uint64 {
	t.Helper()
	notes := make([]byte, f.Progs[0].Filesz)
	if _, err := f.Progs[0].ReadAt(notes, 0); err != nil {
		t.Fatal(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if a.BigEndian {
		order = binary.BigEndian
	}
	at, size := 20+72, int(order.Uint32(notes[4:])) // behind the note's head and name
	if a.ELF.Class == 2 {
		at = 20 + 112
	}
	layout := a.Layouts[cpu.LinuxPrstatus]
	if word := map[byte]int{1: 4, 2: 8}[a.ELF.Class]; size != at-20+layout.Size+word {
		t.Errorf("%s: NT_PRSTATUS of %d bytes", a, size)
	}
	regs := a.Read(layout, notes[at:])
	return regs.Val[a.SP]
}
