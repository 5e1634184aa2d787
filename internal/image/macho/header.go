package macho

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// header is the mach header: what it says of the file's processor and kind.
type header struct {
	wide, big  bool
	cpu        cpu.MachOType
	subtype    uint32
	typ, flags uint32
}

// readHeader reads the header at the reader's place, and how many load commands of how many
// bytes follow.
func readHeader(data []byte, at uint64) (h header, r bin.Reader, count, size uint32, ok bool) {
	if at < uint64(len(data)) {
		h.wide, h.big, ok = ident(data[at:])
	}
	if !ok {
		return h, r, 0, 0, false
	}
	r = bin.NewAt(data, at+4, h.big)
	h.cpu, h.subtype = cpu.MachOType(r.U32()), r.U32()
	h.typ = r.U32()
	count, size = r.U32(), r.U32()
	h.flags = r.U32()
	if h.wide {
		r.Skip(4)
	}
	return h, r, count, size, true
}

// word reads an address.
func (h *header) word(r *bin.Reader) uint64 {
	if h.wide {
		return r.U64()
	}
	return uint64(r.U32())
}

// addrSize is the size of an address in bytes.
func (h *header) addrSize() uint64 {
	if h.wide {
		return 8
	}
	return 4
}

// nlistSize is the size of an entry of the symbol table.
func (h *header) nlistSize() uint64 { return 8 + h.addrSize() }

// refusal is why a Mach-O file is no image; "" if it is one.
func (h *header) refusal() string {
	switch h.typ {
	case mhExecute, mhPreload, mhDylib, mhDylink, mhBundle, mhKext, mhDsym, mhFileset:
		return ""
	case mhObject:
		return "an object file has no addresses yet; link it first"
	case mhCore:
		return "a core file is a capture, not an executable"
	}
	return fmt.Sprintf("Mach-O type %d is neither an executable nor a library", h.typ)
}

// fits tells how well a file of a UUID is what opt asks for.
func (h *header) fits(uuid []byte, opt image.Options) (score int) {
	arch, known := opt.Archs.ByMachO(h.cpu)
	if !known {
		return 0
	}
	score = 1
	if want := cmp.Or(opt.Arch, opt.Raw); want != nil && want.Name == arch.Name && want.AddrSize == arch.AddrSize {
		score += 2
	}
	if len(opt.BuildID) > 0 && bytes.Equal(opt.BuildID, uuid) {
		score += 4
	}
	return score
}
