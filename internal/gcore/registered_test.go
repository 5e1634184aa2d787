//go:build linux

package gcore

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/backsight/backsight/internal/procfs"
)

// descriptor is a variable as GDB's JIT interface has it, in the data of this program's file.
var descriptor = [4]uint64{1}

// TestRegistered: of a list of code that a program made, variable, entries and files are copied, as far as the entries name ELF files.
func TestRegistered(t *testing.T) {
	maps, err := procfs.Maps("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	b, err := builderOf("/proc/self", "/proc/self", archs())
	if err != nil {
		t.Fatal(err)
	}
	if b.order.Uint32([]byte{1, 0, 0, 0}) != 1 {
		descriptor[0] <<= 32
	}
	sizeAt := 3 * b.width()
	if b.width() == 4 && b.arch.Name != "i386" {
		sizeAt += 4
	}
	entry := func(next *[4]uint64, file []byte) *[4]uint64 {
		e := new([4]uint64)
		raw := unsafe.Slice((*byte)(unsafe.Pointer(e)), 32)
		copy(raw, b.word(b.word(b.word(nil, addressOf(next)), 0), addressOf(&file[0])))
		b.order.PutUint64(raw[sizeAt:], uint64(len(file)))
		return e
	}
	elf, other := []byte("\x7fELF of a function"), []byte("another file")
	for _, c := range []struct {
		what          string
		first, second []byte
		loops         bool   // the second entry leads to the first
		copied        []bool // the variable, the entries and the files
	}{
		{"two files", elf, slices.Clone(elf), false, []bool{true, true, true, true, true}},
		{"one, and another list behind", elf, other, false, []bool{true, true, true, false, false}},
		{"a list without an end", elf, slices.Clone(elf), true, []bool{true, true, true, true, true}},
		{"no such list", other, elf, false, []bool{false, false, false, false, false}},
	} {
		second := entry(nil, c.second)
		first := entry(second, c.first)
		if c.loops {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(second)), 32), b.word(nil, addressOf(first)))
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&descriptor)), 32)[8+b.width():], b.word(nil, addressOf(first)))
		pieces := b.registered(&memory{ReaderAt: mem}, maps)
		for i, addr := range []uint64{addressOf(&descriptor), addressOf(first), addressOf(&c.first[0]), addressOf(second), addressOf(&c.second[0])} {
			if got := slices.ContainsFunc(pieces, func(p piece) bool { return addr-p.lo < p.size }); got != c.copied[i] {
				t.Errorf("%s: part %d was copied: %t", c.what, i, got)
			}
		}
		runtime.KeepAlive(first)
	}
}

func addressOf[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
