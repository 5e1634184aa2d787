package machcore

import (
	"bytes"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// Names and values of mach-o/loader.h.
const (
	magic32, magic64 = 0xfeed_face, 0xfeed_facf

	mhCore = 4

	lcSegment   = 0x1
	lcThread    = 0x4
	lcSegment64 = 0x19
	lcNote      = 0x31
)

// header is the mach header of a core.
type header struct {
	wide, big   bool
	cpu         cpu.MachOType
	count, size uint32 // load commands
}

// headerSize is the size of the header.
func (h *header) headerSize() uint64 {
	if h.wide {
		return 32
	}
	return 28
}

// readHeader reads the header of a core; what says why there is none.
func readHeader(data []byte) (h header, what string) {
	for _, big := range []bool{false, true} {
		r := bin.New(data, big)
		magic := r.U32()
		if magic != magic32 && magic != magic64 {
			continue
		}
		h.wide, h.big = magic == magic64, big
		h.cpu = cpu.MachOType(r.U32())
		r.Skip(4)
		typ := r.U32()
		h.count, h.size = r.U32(), r.U32()
		switch {
		case r.Err() != nil:
			return h, "the file ends within its header"
		case typ != mhCore:
			return h, "a Mach-O file that is no core"
		}
		return h, ""
	}
	return h, "not a Mach-O core"
}

// load is an LC_SEGMENT: bytes of the file that were memory.
type load struct {
	addr, size, off, filesize uint64
	prot                      uint32
}

// note is an LC_NOTE: data of an owner.
type note struct {
	owner string
	data  []byte
}

// commands is what the load commands say.
type commands struct {
	loads   []load
	threads [][]byte
	notes   []note
}

// maxThreads and maxNotes bound what is kept of load commands.
const maxThreads, maxNotes = 1 << 16, 1 << 10

// read reads the load commands, as many as are whole; it reports how many these are.
func (c *commands) read(data []byte, h *header) (whole uint32) {
	r := bin.NewAt(data, h.headerSize(), h.big)
	end := min(h.headerSize()+uint64(h.size), uint64(len(data)))
	for whole < h.count {
		at := uint64(r.Offset())
		id, n := r.U32(), uint64(r.U32())
		if r.Err() != nil || n < 8 || at+n > end {
			return whole
		}
		c.command(id, bin.New(data[at+8:at+n], h.big), data)
		r.Seek(at + n)
		whole++
	}
	return whole
}

func (c *commands) command(id uint32, r bin.Reader, data []byte) {
	switch id {
	case lcSegment, lcSegment64:
		word := func() uint64 {
			if id == lcSegment64 {
				return r.U64()
			}
			return uint64(r.U32())
		}
		r.Skip(16) // segname
		l := load{addr: word(), size: word(), off: word(), filesize: word()}
		r.Skip(4) // maxprot
		l.prot = r.U32()
		if r.Err() == nil {
			c.loads = append(c.loads, l)
		}
	case lcThread:
		if len(c.threads) < maxThreads {
			c.threads = append(c.threads, r.Bytes(uint64(r.Len())))
		}
	case lcNote:
		owner := r.Bytes(16)
		off, size := r.U64(), r.U64()
		if r.Err() == nil && len(c.notes) < maxNotes {
			name, _, _ := bytes.Cut(owner, []byte{0})
			b := data[bin.Limit(off, len(data)):]
			c.notes = append(c.notes, note{string(name), b[:bin.Limit(size, len(b))]})
		}
	}
}
