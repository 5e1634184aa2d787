package elf

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// layout has the sizes of Elf32_Addr, Elf32_Phdr, … or their 64-bit forms (gABI
// ch. 4 and 5).
type layout struct{ addr, phdr, shdr, sym, chdr uint64 }

var (
	layout32 = layout{4, 32, 40, 16, 12}
	layout64 = layout{8, 56, 64, 24, 24}
)

// encoding is how a file writes its numbers, and for which processor: some numbers mean something
// else on each processor.
type encoding struct {
	layout
	wide    bool // ELFCLASS64
	big     bool // ELFDATA2MSB
	machine uint16
}

// readIdent checks e_ident for what decides how to read everything else.
func readIdent(path string, data []byte) (encoding, error) {
	refuse := func(off int64, reason string) (encoding, error) {
		return encoding{}, &image.Error{Path: path, Offset: off, Reason: reason}
	}
	r := bin.New(data, false)
	if string(r.Bytes(4)) != magic {
		return refuse(0, "not an ELF file")
	}
	class, order := r.U8(), r.U8()
	if class != 1 && class != 2 {
		return refuse(4, "unknown ELF class")
	}
	if order != 1 && order != 2 {
		return refuse(5, "unknown ELF data encoding")
	}
	if class == 2 {
		return encoding{layout: layout64, wide: true, big: order == 2}, nil
	}
	return encoding{layout: layout32, big: order == 2}, nil
}

// word reads an Elf_Addr, Elf_Off or Elf_Xword.
func (e *encoding) word(r *bin.Reader) uint64 {
	if e.wide {
		return r.U64()
	}
	return uint64(r.U32())
}

func (e *encoding) class() uint8 {
	if e.wide {
		return 2
	}
	return 1
}

// sameTarget tells whether two files are for the same processor, width and byte order, as a binary
// and its debug file are.
func (e *encoding) sameTarget(other *encoding) bool {
	return e.machine == other.machine && e.wide == other.wide && e.big == other.big
}
