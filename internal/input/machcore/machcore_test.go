package machcore

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/synth/machofile"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

const (
	imageAt  = 0x1_8000_0000 // where the library is mapped
	linkedAt = 0x4000        // where it was linked
	stackAt  = 0x1_7000_0000
)

// library is a mapped library: its mach header, __TEXT, its UUID and name.
func library() []byte {
	cmds := machofile.Command(lcSegment64, machofile.Name("__TEXT"), machofile.U64(linkedAt, 0x200, 0, 0x200), machofile.U32(5, 5, 0, 0))
	cmds = append(cmds, machofile.UUID(7)...)
	cmds = append(cmds, machofile.Command(0xd, machofile.U32(24, 0, 0, 0), []byte("/usr/lib/x.dylib\x00"))...)
	out := machofile.Header64(machofile.CPUTypeARM64, 0, 6, 3, cmds, 0)
	return append(out, make([]byte, 0x200-len(out))...)
}

// What ESR_EL1 has of system calls and of aborts.
const svc, abort = 0x15 << 26, 0x24 << 26

// thread is LC_THREAD of arm64: the general registers, and the exception state. The address of
// the last abort stays there.
func thread(pc, sp uint64, esr uint32) []byte {
	regs := make([]byte, 272)
	binary.LittleEndian.PutUint64(regs[32*8:], pc)
	binary.LittleEndian.PutUint64(regs[31*8:], sp)
	return machofile.Command(lcThread, machofile.U32(6, 68), regs, machofile.U32(7, 4), machofile.U64(0x18), machofile.U32(esr, 0))
}

// coreFile is the core of an arm64 program: two threads, the second of which faulted; a library,
// a stack; a note.
func coreFile() []byte {
	segment := func(addr, off, size uint64, prot uint32) []byte {
		return machofile.Command(lcSegment64, machofile.Name(""), machofile.U64(addr, size, off, size), machofile.U32(prot, prot, 0, 0))
	}
	const data = 0x1000
	bits := machofile.U32(3, 39, 0, 0)
	cmds := append(thread(imageAt+0x100, stackAt+0x10, svc), thread(imageAt+0x104, stackAt+0x20, abort)...)
	cmds = append(cmds, segment(imageAt, data, 0x200, 5)...)
	cmds = append(cmds, segment(stackAt, data+0x200, 0x100, 3)...)
	cmds = append(cmds, machofile.Command(lcNote, machofile.Name(noteAddrBits), machofile.U64(data+0x300, uint64(len(bits))))...)
	out := machofile.Header64(machofile.CPUTypeARM64, 0, mhCore, 5, cmds, 0)
	out = append(out, make([]byte, data-len(out))...)
	out = append(out, library()...)
	out = append(out, make([]byte, 0x100)...)
	return append(out, bits...)
}

func archs() cpu.Set { return append(append(cpu.Set{}, arm64.Archs()...), x86.Archs()...) }

func read(t testing.TB, data []byte, images ...input.NamedImage) (*target.Snapshot, error) {
	t.Helper()
	files := input.NewFiles(input.FileOptions{Archs: archs(), Formats: []image.Format{macho.Format()}, Images: images})
	s, err := open(context.Background(), input.NewCapture("core", data), &input.Env{Archs: archs(), Files: files})
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// TestCore: registers, the fault, how many bits addresses have, and the library as it is mapped.
func TestCore(t *testing.T) {
	snap, err := read(t, coreFile())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Threads) != 2 || snap.Threads[0].Crashed || !snap.Threads[1].Crashed || snap.Fault == nil || snap.Fault.Address != 0x18 {
		t.Errorf("%d threads, fault %+v", len(snap.Threads), snap.Fault)
	}
	if pc, _ := snap.Threads[1].Regs.Lookup(snap.Arch.PC); pc != imageAt+0x104 || snap.CodeMask != 1<<39-1 {
		t.Errorf("pc %#x, mask %#x", pc, snap.CodeMask)
	}
	m, ok := snap.ModuleAt(imageAt + 0x100)
	if !ok || m.Name != "/usr/lib/x.dylib" || m.Bias != imageAt-linkedAt || !bytes.Equal(m.BuildID, bytes.Repeat([]byte{7}, 16)) {
		t.Fatalf("%+v", m)
	}
	if !m.Image.Segments.Executable(linkedAt+0x100) || len(snap.Issues) != 0 {
		t.Errorf("issues %v", snap.Issues)
	}
	if _, ok := snap.Memory.Word(stackAt + 0x10); !ok {
		t.Error("the stack is not there")
	}
}

// TestCut: what a cut core still holds is used, and what is missing is said.
func TestCut(t *testing.T) {
	whole := coreFile()
	snap, err := read(t, whole[:0x1280])
	if err != nil || len(snap.Modules) != 1 || len(snap.Issues) != 1 || !strings.Contains(snap.Issues[0].Text, "memory of 1 of 2 segments") {
		t.Errorf("%v, %+v", err, snap)
	}
	if _, err := read(t, whole[:40]); err == nil || !strings.HasPrefix(err.Error(), "core: offset 0x20: a core without any thread") {
		t.Error(err)
	}
}

// TestRecordedCores: cores made of recorded snapshots, with the programs in memory and, by their
// UUID, as files.
func TestRecordedCores(t *testing.T) {
	dir := recorded.Shared(t, "inputs", "apple", "core-synthetic")
	cores, _ := filepath.Glob(filepath.Join(dir, "*.core.gz"))
	program := filepath.Join(recorded.Shared(t, "truth", "apple"), "arm64", "pub-clang19-O2", "sym.macho")
	for _, path := range cores {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := read(t, data, input.NamedImage{Path: program})
		if err != nil || len(snap.Modules) == 0 {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if strings.HasPrefix(filepath.Base(path), "arm64-pub-") && snap.Modules[0].Image.Path != program {
			t.Errorf("%s: the program is %s", path, snap.Modules[0].Image.Path)
		}
	}
}

// FuzzCore: whatever a core says, reading it ends and never panics.
func FuzzCore(f *testing.F) {
	f.Add(coreFile())
	f.Fuzz(func(t *testing.T, data []byte) {
		if sniff(data) {
			_, _ = read(t, data)
		}
	})
}

// TestNotesOfOneTable: notes that all show the same table of images take no more memory than one.
func TestNotesOfOneTable(t *testing.T) {
	const path, entries, notes = 8, 2048, 500
	data := bytes.Repeat([]byte{'x'}, entries)
	data[entries-1] = 0
	for range maxImages {
		data = append(data, machofile.U64(path)...)
		data = append(data, make([]byte, 16)...) // UUID
		data = append(data, machofile.U64(imageAt, 0, 0)...)
	}
	table := machofile.U32(1, maxImages)
	table = append(table, machofile.U64(entries)...)
	table = append(table, machofile.U32(imageEntry)...)
	c := core{data: data}
	for range notes {
		c.commands.notes = append(c.commands.notes, note{noteImages, table})
	}
	meter.Allocations(t, len(data), func() {
		if n := len(c.noted()); n != maxImages {
			t.Errorf("%d images", n)
		}
	})
}
