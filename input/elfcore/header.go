package elfcore

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// Names of the gABI and of Linux's include/uapi/linux/elf.h.
const (
	etCore = 4
	emMIPS = 8
	ptLoad = 1
	ptDyn  = 2
	ptNote = 4
	pfX    = 1
	pfW    = 2
	pfR    = 4
	pnXNum = 0xffff
)

// Linux allows 65,530 mappings (vm.max_map_count), databases ask for a few hundred
// thousand. One that was written to has a page at least in the core.
const loadsFloor, bytesPerLoad = 1 << 18, 1 << 12

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

// count is e_phnum, or sh_info of section header 0 where there are too many
// mappings for 16 bits (gABI ch. 4, PN_XNUM).
func (c *core) count() uint64 {
	h := &c.header
	if h.phnum != pnXNum {
		return h.phnum
	}
	r := bin.New(c.data, h.big)
	r.Seek(h.shoff)
	r.Skip(8 + 4*uint64(h.word()) + 4) // sh_name to sh_link
	if n := r.U32(); r.Err() == nil {
		return uint64(n)
	}
	return h.phnum
}

// readSegments collects the notes and the mappings. Headers that the file's end
// cuts off are an issue, and so are mappings.
func (c *core) readSegments() error {
	h := &c.header
	if h.phentsize < h.phdrSize() {
		return c.errorf(h.phoff, "program headers of %d bytes are too small", h.phentsize)
	}
	size, n := uint64(len(c.data)), c.count()
	if h.phoff >= size {
		return c.errorf(h.phoff, "the file ends before its program headers, after %#x bytes", size)
	}
	if room := (size - h.phoff) / h.phentsize; n > room {
		c.issue("%s: offset %#x: of %d program headers the file holds %d", c.name, h.phoff, n, room)
		n = room
	}
	needed, mappings := uint64(0), budget.New("mappings", loadsFloor, size/bytesPerLoad)
	c.loads = make([]phdr, 0, min(n, uint64(mappings.Left())))
	for i := range n {
		p := h.readPhdr(c.data[h.phoff+i*h.phentsize:])
		switch p.typ {
		case ptNote:
			c.readNotes(p)
		case ptLoad:
			if mappings.Draw(1) {
				c.loads = append(c.loads, p)
			}
		default:
			continue
		}
		if end := p.off + p.filesz; end >= p.off {
			needed = max(needed, end)
		}
	}
	if err := mappings.Err(); err != nil {
		c.issue("%s: %v; the others are left out", c.name, err)
	}
	if needed > size {
		c.issue("%s: truncated: %#x bytes of %#x are there", c.name, size, needed)
	}
	return nil
}

// fileBytes is the part of [off, off+n) that the file holds.
func (c *core) fileBytes(off, n uint64) []byte {
	if off >= uint64(len(c.data)) {
		return nil
	}
	b := c.data[off:]
	return b[:bin.Limit(n, len(b))]
}
