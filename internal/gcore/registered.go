//go:build linux

package gcore

import (
	"strings"

	"github.com/backsight/backsight/internal/procfs"
)

// What is copied of code that a process registered with GDB: so many files, and so many bytes of them.
const maxRegistered, maxSymbolFiles = 1 << 12, 16 << 20

// registered are the lists by which run-times tell GDB of code that they made, and the ELF files that describe the code there (GDB's
// manual, "JIT Interface"): QEMU has one, and LLVM. The variable that leads to a list has a name, for which files would have to be
// read. What reads as such a variable in the data of a file is one where its list begins with an ELF file.
//
//	jit_descriptor: version 1, action_flag 0 to 2 (4 bytes each), relevant_entry, first_entry
//	jit_code_entry: next_entry, prev_entry, symfile_addr, symfile_size (8 bytes)
func (b *builder) registered(mem *memory, maps []procfs.Mapping) []piece {
	found, room := finds{maps: maps, left: maxSymbolFiles}, make([]byte, block)
	for i := range maps {
		m := &maps[i]
		if m.Inode == 0 || !strings.HasPrefix(m.Perms, "rw") {
			continue
		}
		end := m.Lo + min(m.Hi-m.Lo, maxGlobals)
		for addr := m.Lo; addr < end; addr += block {
			data := room[:mem.Read(addr, room[:min(block, end-addr)])]
			for at := 0; at+8 <= len(data); at += b.width() {
				if b.order.Uint32(data[at:]) == 1 && b.order.Uint32(data[at+4:]) <= 2 {
					b.entries(mem, addr+uint64(at), &found)
				}
			}
		}
	}
	return joined(found.list)
}

// finds are pieces of a process that has mappings, and how many bytes more are wanted.
type finds struct {
	maps []procfs.Mapping
	list []piece
	left uint64
}

func (f *finds) add(addr, size uint64) {
	f.list = append(f.list, piece{lo: addr, size: size, mode: "rw-p"})
}

// entries adds a variable and what it leads to, as long as that is a list of ELF files.
func (b *builder) entries(mem *memory, variable uint64, found *finds) {
	w := uint64(b.width())
	sizeAt := (3*w + 7) &^ 7
	if b.arch.Name == "i386" {
		sizeAt = 3 * w // whose 8 bytes are aligned to 4
	}
	var magic [4]byte
	var size [8]byte
	entry := b.wordAt(mem, variable+8+w)
	for n := 0; n < maxRegistered && at(found.maps, entry) != nil; n++ {
		file := b.wordAt(mem, entry+2*w)
		if at(found.maps, file) == nil || mem.Read(file, magic[:])+mem.Read(entry+sizeAt, size[:]) < len(magic)+len(size) {
			return
		}
		wanted := b.order.Uint64(size[:])
		if string(magic[:]) != "\x7fELF" || wanted > found.left {
			return
		}
		if n == 0 {
			found.add(variable, 8+2*w)
		}
		found.add(entry, sizeAt+8)
		found.add(file, wanted)
		found.left -= wanted
		entry = b.wordAt(mem, entry)
	}
}

// wordAt is a word of the process, 0 where there is none.
func (b *builder) wordAt(mem *memory, addr uint64) uint64 {
	var word [8]byte
	switch w := b.width(); {
	case mem.Read(addr, word[:w]) < w:
		return 0
	case w == 4:
		return uint64(b.order.Uint32(word[:]))
	}
	return b.order.Uint64(word[:])
}
