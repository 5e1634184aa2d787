package vmcore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// makedumpfile's kdump-compressed format (its IMPLEMENTATION file, diskdump_mod.h), which
// QEMU writes, too:
//
//	block 0          header: signature, struct new_utsname, size of a block, …
//	block 1          sub-header: where VMCOREINFO and notes lie
//	bitmaps          one bit a page: present in the machine; then: in this file
//	descriptors      24 bytes for each page in this file: offset, size, compression
//	pages

// kdumpMagic begins such a file.
const kdumpMagic = "KDUMP   "

// kdump is the pages of such a file.
type kdump struct {
	files []kdumpFile // in order of their pages
	order binary.ByteOrder
	block uint64 // of a page
	// dumped has a bit for each page that the file holds; pages of zeros share one block. What the user wanted to leave out, such as
	// programs' memory, is not there. ranks counts the bits before each run of rankPages pages, so that a page's descriptor is found.
	dumped      []byte
	ranks       []uint32
	count       uint64 // of all pages that the dump holds
	descriptors uint64 // offset

	mu     sync.Mutex
	kept   map[packedBlock][]byte // blocks, by where they lie
	expand expander
}

// packedBlock is where a descriptor says that a block lies. A dump has one block of zeros for all pages of zeros.
type packedBlock struct {
	file        uint64 // the first of its pages
	offset      uint64
	size, flags uint32
}

const (
	// kdumpFields is the size of what the header's block holds.
	kdumpFields = 464
	rankPages   = 512
	descSize    = 24
	// maxKept bounds the blocks kept, of 4 KB for the most part.
	maxKept = 256
	// runsFloor bounds the runs of pages, each of which costs some hundred bytes, beside those that are parted by a page
	// that the file has a descriptor of.
	runsFloor = 1 << 12
	// memoryFloor and memoryPerByte bound the memory that a dump shows of pages in the file, by the size of the file:
	// 24 bytes of a descriptor are 4096 of memory, where all pages are the same.
	memoryFloor, memoryPerByte = 512 << 20, 192
)

// kdumpHeader is what the first two blocks say.
type kdumpHeader struct {
	order                binary.ByteOrder
	wide                 bool
	machine              string
	block                uint64
	subBlocks, bitBlocks uint64
	info, notes          [2]uint64 // offset and size
	split                bool      // the file holds the pages from up to end; other files have the others
	from, end            uint64
}

// readKdumpHeader decodes the header at the beginning of a file of size bytes. The widths of its fields are those of the machine that
// crashed.
func readKdumpHeader(data []byte, size uint64) (h kdumpHeader, ok bool) {
	const utsAt, fieldsAt = 12, 12 + utsSize
	if len(data) < 1024 || string(data[:8]) != kdumpMagic {
		return h, false
	}
	h.order = binary.LittleEndian
	if h.order.Uint32(data[8:]) > 0xff { // header_version
		h.order = binary.BigEndian
	}
	h.machine = field(data[utsAt:], 4)
	const narrowAt, wideAt = fieldsAt + 2 + 8, 424 // behind the timestamp
	h.wide = is64(h.machine) || !h.sizes(data[narrowAt:])
	if h.wide && !h.sizes(data[wideAt:]) {
		return h, false
	}
	h.sub(part(data, h.block, 128), size)
	return h, true
}

// sizes reads the sizes in the header, and tells whether they can be right: they are not where the
// header of the other width has its timestamp. QEMU writes "Unknown" for RISC-V.
func (h *kdumpHeader) sizes(fields []byte) bool {
	h.block = uint64(h.order.Uint32(fields[4:]))
	h.subBlocks, h.bitBlocks = uint64(h.order.Uint32(fields[8:])), uint64(h.order.Uint32(fields[12:]))
	return h.block >= pageSize && h.block <= 64<<10 && h.block&(h.block-1) == 0
}

// sub reads the sub-header. Its 64-bit fields are aligned on ARM and not on i386, so that
// the place counts at which the offsets lie in the file.
func (h *kdumpHeader) sub(b []byte, size uint64) {
	places, splitAt := []uint64{20, 24}, uint64(8)
	if h.wide {
		places, splitAt = []uint64{32}, 12
	}
	big, word := h.order == binary.ByteOrder(binary.BigEndian), 4
	if h.wide {
		word = 8
	}
	r := bin.NewAt(b, splitAt, big)
	h.split = r.U32() == 1
	h.from, h.end = r.Uint(word), r.Uint(word)
	for _, at := range places {
		r := bin.NewAt(b, at, big)
		for _, field := range []*[2]uint64{&h.info, &h.notes} {
			field[0] = r.U64()
			field[1] = r.Uint(word)
			if !h.wide && at == 24 {
				r.Skip(4)
			}
		}
		if h.info[0] < size && h.info[1] <= size && h.notes[0] < size && h.notes[1] <= size {
			return
		}
	}
	h.info, h.notes = [2]uint64{}, [2]uint64{}
}

func is64(machine string) bool {
	switch machine {
	case "x86_64", "aarch64", "ppc64", "ppc64le", "s390x", "riscv64", "mips64", "loongarch64", "ia64":
		return true
	}
	return false
}

// readKdump reads a kdump-compressed dump of one file, or of several. Its header is no witness of the
// processor: QEMU writes i686 or x86_64 for all.
func readKdump(ctx context.Context, name string, first input.Pages, others []input.Pages) (*dump, error) {
	h, ok := readKdumpHeader(first.Bytes(0, headReach), first.Size())
	d := &dump{name: name}
	if !ok {
		return nil, d.errorf("the header of the kdump is damaged")
	}
	big := h.order == binary.ByteOrder(binary.BigEndian)
	bitmaps := first.Bytes((1+h.subBlocks)*h.block, h.bitBlocks*h.block)
	k := &kdump{order: h.order, block: h.block, dumped: bitmaps[len(bitmaps)/2:],
		descriptors: (1 + h.subBlocks + h.bitBlocks) * h.block, kept: make(map[packedBlock][]byte)}
	k.rank()
	k.join(d, append([]input.Pages{first}, others...))
	b := k.memory(d)
	b.Until(ctx)
	d.physical = b.Memory(&cpu.Arch{AddrSize: 8, BigEndian: big})
	d.info = vmcoreinfo.Parse(first.Bytes(h.info[0], h.info[1]))
	d.notes = append(d.notes, noteSegment{first.Bytes(h.notes[0], h.notes[1]), elfHeader{wide: h.wide, big: big}})
	return d, nil
}

// memory is the memory that the dump shows, as far as files of this size can.
func (k *kdump) memory(d *dump) *target.Builder {
	size := uint64(0)
	for _, f := range k.files {
		size += f.pages.Size()
	}
	var b target.Builder
	runs := budget.New("runs of pages", runsFloor, 2*size/descSize)
	most := budget.New("bytes of memory", memoryFloor, memoryPerByte*size)
	k.runs(func(page, n uint64) bool {
		all := n
		if !runs.Draw(1) {
			n = 0
		} else if !most.Draw(int(n * k.block)) {
			n = uint64(most.Left()) / k.block
		}
		if n > 0 {
			b.AddPaged(page*k.block, n*k.block, k, target.PermUnknown)
		}
		if n < all {
			d.issue(target.IssueCapture, "%v in %d bytes of a dump; the memory from %#x on is left out", cmp.Or(runs.Err(), most.Err()), size, (page+n)*k.block)
		}
		return n == all
	})
	return &b
}

// rank counts the pages before each run.
func (k *kdump) rank() {
	n := uint32(0)
	for i, b := range k.dumped {
		if i%(rankPages/8) == 0 {
			k.ranks = append(k.ranks, n)
		}
		n += uint32(bits.OnesCount8(b))
	}
	k.count = uint64(n)
}

// runs calls visit for each run of pages that the file holds, in order of address, until visit returns false.
func (k *kdump) runs(visit func(page, n uint64) bool) {
	from, now := uint64(0), false
	for page := uint64(0); page <= 8*uint64(len(k.dumped)); page++ {
		next := k.has(page)
		if next == now {
			continue
		}
		if now && !visit(from, page-from) {
			return
		}
		from, now = page, next
	}
}

func (k *kdump) has(page uint64) bool { return bit(k.dumped, page) }

func bit(bitmap []byte, n uint64) bool {
	return n/8 < uint64(len(bitmap)) && bitmap[n/8]>>(n%8)&1 != 0
}

// ReadPage implements target.Pager.
func (k *kdump) ReadPage(addr uint64, page []byte) (n int, err error) {
	for n < len(page) {
		b, err := k.blockOf((addr + uint64(n)) / k.block)
		off := (addr + uint64(n)) % k.block
		if err != nil || uint64(len(b)) <= off {
			return n, err
		}
		n += copy(page[n:], b[off:])
	}
	return n, nil
}

// blockOf decompresses one page of the machine.
func (k *kdump) blockOf(page uint64) ([]byte, error) {
	if !k.has(page) {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f, ok := k.fileOf(page)
	if !ok {
		return nil, nil
	}
	index := k.dumpedBefore(page) - f.first
	b, err := k.expanded(&f, f.pages.Bytes(k.descriptors+index*descSize, descSize))
	if err != nil {
		return nil, fmt.Errorf("page %#x of the kdump: %w", page, err)
	}
	return b, nil
}

// expanded is the page of a file that a descriptor is of.
func (k *kdump) expanded(f *kdumpFile, desc []byte) (b []byte, err error) {
	r := bin.New(desc, k.order == binary.ByteOrder(binary.BigEndian))
	at := packedBlock{file: f.from, offset: r.U64(), size: r.U32(), flags: r.U32()}
	if r.Err() != nil {
		return nil, r.Err()
	}
	b, ok := k.kept[at]
	if ok {
		return b, nil
	}
	b, err = k.expand.page(f.pages.Bytes(at.offset, min(uint64(at.size), 2*k.block)), at.flags, int(k.block))
	if err != nil {
		return nil, err
	}
	if len(k.kept) >= maxKept {
		clear(k.kept)
	}
	k.kept[at] = b
	return b, nil
}
