package elfcore

import "github.com/backsight/backsight/internal/bin"

// Names of the gABI and of Linux's include/uapi/linux/elf.h.
const (
	etCore    = 4
	emMIPS    = 8
	emX86_64  = 62
	emAArch64 = 183
	ptLoad    = 1
	ptDyn     = 2
	ptNote    = 4
	pfX       = 1
	pfW       = 2
	pfR       = 4
	pnXNum    = 0xffff
)

// header is an ELF header, of the core or of a file mapped in it.
type header struct {
	wide, big    bool
	typ, machine uint16
	flags        uint32
	entry        uint64
	phoff, shoff uint64
	phentsize    uint64
	phnum        uint64
	shnum        uint64
}

func (h *header) word() int {
	if h.wide {
		return 8
	}
	return 4
}

func (h *header) class() uint8 {
	if h.wide {
		return 2
	}
	return 1
}

// headerSize is enough for an ELF header of either class.
const headerSize = 64

// readHeader decodes an ELF header, or says what is wrong with it.
func readHeader(data []byte) (h header, wrong string) {
	if len(data) < 20 || string(data[:4]) != "\x7fELF" {
		return h, "not an ELF file"
	}
	class, order := data[4], data[5]
	if class != 1 && class != 2 || order != 1 && order != 2 {
		return h, "unknown ELF class or byte order"
	}
	h.wide, h.big = class == 2, order == 2
	r := bin.New(data, h.big)
	r.Seek(16)
	h.typ, h.machine = r.U16(), r.U16()
	r.Skip(4) // e_version
	h.entry, h.phoff, h.shoff = r.Uint(h.word()), r.Uint(h.word()), r.Uint(h.word())
	h.flags = r.U32()
	r.Skip(2) // e_ehsize
	h.phentsize, h.phnum = uint64(r.U16()), uint64(r.U16())
	r.Skip(2) // e_shentsize
	h.shnum = uint64(r.U16())
	if r.Err() != nil {
		return h, "the file ends within its ELF header"
	}
	return h, ""
}

// phdr is a program header.
type phdr struct {
	typ, flags                uint32
	off, vaddr, filesz, memsz uint64
}

// phdrSize is the size of a program header.
func (h *header) phdrSize() uint64 {
	if h.wide {
		return 56
	}
	return 32
}

// readPhdr decodes one program header.
func (h *header) readPhdr(b []byte) (p phdr) {
	r := bin.New(b, h.big)
	p.typ = r.U32()
	if h.wide {
		p.flags = r.U32()
	}
	p.off, p.vaddr = r.Uint(h.word()), r.Uint(h.word())
	r.Skip(uint64(h.word())) // p_paddr
	p.filesz, p.memsz = r.Uint(h.word()), r.Uint(h.word())
	if !h.wide {
		p.flags = r.U32()
	}
	return p
}
