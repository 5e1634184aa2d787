//go:build linux

package gcore

import (
	"strings"

	"github.com/backsight/backsight/internal/procfs"
)

// Of code that a process registered with GDB so many entries are looked at, and so many bytes of files are copied.
const maxRegistered, maxSymbolFiles = 1 << 16, 16 << 20

// registered are the lists by which run-times tell GDB of code that they made, and the ELF files that describe the code there (GDB's
// manual, "JIT Interface"): QEMU has one, and LLVM. The variable that leads to a list has a name, for which files would have to be
// read. What reads as such a variable in the data of a file is one where its list begins with an ELF file.
//
//	jit_descriptor: version 1, action_flag 0 to 2 (4 bytes each), relevant_entry, first_entry
//	jit_code_entry: next_entry, prev_entry, symfile_addr, symfile_size (8 bytes)
func (b *builder) registered(mem *memory, maps []procfs.Mapping) []piece {
	found, room, left := finds{maps: maps, entries: maxRegistered, bytes: maxSymbolFiles}, make([]byte, block), uint64(maxAllGlobals)
	for i := range maps {
		m := &maps[i]
		if m.Inode == 0 || !strings.HasPrefix(m.Perms, "rw") {
			continue
		}
		end := m.Lo + min(m.Hi-m.Lo, maxGlobals, left)
		left -= end - m.Lo
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

// finds are pieces of a process that has mappings, and how many more entries are looked at, and bytes copied.
type finds struct {
	maps    []procfs.Mapping
	list    []piece
	entries int
	bytes   uint64
}

func (f *finds) add(addr, size uint64) {
	f.list = append(f.list, piece{lo: addr, size: size, mode: "rw-p"})
}

// entries adds a variable and what it leads to, as long as that is a list of ELF files.
func (b *builder) entries(mem *memory, variable uint64, found *finds) {
	w, words := uint64(b.width()), b.words(mem)
	sizeAt := (3*w + 7) &^ 7
	if b.arch.Name == "i386" {
		sizeAt = 3 * w // whose 8 bytes are aligned to 4
	}
	var magic [4]byte
	var size [8]byte
	entry := words.WordAt(variable + 8 + w)
	for first := true; found.entries > 0 && at(found.maps, entry) != nil; first = false {
		found.entries--
		file := words.WordAt(entry + 2*w)
		if at(found.maps, file) == nil || mem.Read(file, magic[:])+mem.Read(entry+sizeAt, size[:]) < len(magic)+len(size) {
			return
		}
		wanted := b.order.Uint64(size[:])
		if string(magic[:]) != "\x7fELF" || wanted > found.bytes {
			return
		}
		if first {
			found.add(variable, 8+2*w)
		}
		found.add(entry, sizeAt+8)
		found.add(file, wanted)
		found.bytes -= wanted
		entry = words.WordAt(entry)
	}
}
