// Package zram reads pages that a stopped Linux kernel had swapped out to zram, a disk that keeps what is written to it compressed in the
// machine's own memory. Kernels are built in a thousand ways, and zram is a module of its own for the most part: where fields lie is found
// by what they hold, and a page counts as found only where what the kernel wrote in front of it says whose it is.
//
//	swap entry of a page table ─► swap_info[type] ─► block device ─► gendisk "zram0" ─► struct zram
//	struct zram ─► table[offset]: a handle, the size of what is compressed
//	handle ─► the number of a page, an index ─► the object, which begins with the handle
//	object that reaches beyond its page ─► struct page ─► the struct page of the next one
//
// Specifications: Linux drivers/block/zram/zram_drv.h, mm/zsmalloc.c, include/linux/swap.h, and the processors' pgtable.h (5.10 to 6.12).
package zram

import (
	"context"
	"errors"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// Kernel is a kernel that may have swapped pages out.
type Kernel struct {
	Arch *cpu.Arch
	// Memory is the kernel's address space, Physical physical memory, both in the processor's byte order.
	Memory, Physical *target.Memory
	// Areas is the address of swap_info, the pointers to what is swapped out to; 0 where that is not known: devices are looked for in all
	// memory then.
	Areas uint64
	// Pages is the virtual address of the struct page of physical address 0, whether or not there is one, and PageSize the size of that
	// structure; 0 where that is not known.
	Pages, PageSize uint64
}

// Swap is what a kernel swapped out to zram.
type Swap struct {
	*Kernel
	word     uint64
	areas    [maxAreas]*disk // by index of swap_info; nil: to something else
	encoding encoding
	work     budget.Budget // of the search
}

// disk is a zram device.
type disk struct {
	name   string
	table  uint64 // its first entry
	stride uint64 // bytes of one
	shift  uint   // of the page's number in what a handle leads to
}

const (
	// pageSize is that of the kernels whose zram is read.
	pageSize = 4096
	// maxAreas is MAX_SWAPFILES at most.
	maxAreas = 32
	// leastWork and bytesPerStep bound the entries of tables and the objects that are looked up to find devices.
	leastWork, bytesPerStep = 1 << 22, 64
	// most is how many of the given entries are looked at.
	most = 1 << 14
)

// prefix is how devices are called, with a number.
const prefix = "zram"

// ErrNone is that of a kernel that has swapped nothing out to a zram that can be read.
var ErrNone = errors.New("no zram was found")

// Find finds what a kernel swapped out to zram. entries are those of pages that page tables say are not in memory: by them it is known how
// a processor's entries say what was swapped out where.
func Find(ctx context.Context, k *Kernel, entries []uint64) (*Swap, error) {
	s := &Swap{Kernel: k, word: uint64(k.Arch.AddrSize), work: budget.New("looks for zram", leastWork, k.Physical.Size()/bytesPerStep)}
	s.work.Until(ctx)
	entries = entries[:min(len(entries), most)]
	if k.Areas == 0 {
		disks, err := s.search(ctx)
		if err != nil {
			return nil, err
		}
		return s, s.findEncoding(entries, disks)
	}
	found := false
	for area := range uint64(maxAreas) {
		if !s.work.Draw(1) {
			break
		}
		if d := s.diskOf(s.at(k.Areas + area*s.word)); d != nil {
			s.areas[area], found = d, true
		}
	}
	if err := s.work.Err(); err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrNone
	}
	return s, s.findEncoding(entries, nil)
}

// Read reads the page that an entry of a page table stands for. The error says why it cannot be had, in words that follow "is swapped out: ".
func (s *Swap) Read(entry uint64, page *[pageSize]byte) error {
	area, offset := s.encoding.split(entry)
	if area >= maxAreas || s.areas[area] == nil {
		return errors.New("not to zram")
	}
	d := s.areas[area]
	err := s.slot(d, offset, page)
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}

// at is the word at an address, 0 where there is none.
func (s *Swap) at(addr uint64) uint64 {
	v, _ := s.Memory.Word(addr)
	return v
}

// isKernel tells whether a word can be the address of a structure of the kernel.
func (s *Swap) isKernel(p uint64) bool { return p>>(8*s.word-1) == 1 && p%s.word == 0 }

const (
	// sizeArea bounds where a swap_info_struct has its block device, sizeDevice where that has its disk, sizeDisk where that has private_data.
	sizeArea, sizeDevice, sizeDisk = 1 << 10, 1 << 10, 2 << 10
	// nameAt is where a gendisk has its name, behind three numbers.
	nameAt, maxName, firstPrivate = 12, 32, 48
	// firstDisk and lastDisk bound where struct zram points back to its disk: behind the table, the pool and compressors.
	firstDisk, lastDisk = 3, 32
)

// diskOf is the zram device of a swap_info_struct, nil where it is none: one that a block device leads to.
func (s *Swap) diskOf(area uint64) *disk {
	for a := uint64(0); s.isKernel(area) && a < sizeArea && s.work.Draw(sizeDevice/8); a += s.word {
		device := s.at(area + a)
		for b := uint64(0); s.isKernel(device) && b < sizeDevice; b += s.word {
			if d := s.diskAt(s.at(device + b)); d != nil {
				return d
			}
		}
	}
	return nil
}

// diskAt is the zram device of a gendisk, nil where it is none: the disk is called so, what it leads to leads back to it, and most of what
// that has is found.
func (s *Swap) diskAt(gendisk uint64) *disk {
	name := s.name(gendisk)
	for at := uint64(firstPrivate); name != "" && at < sizeDisk; at += s.word {
		if z := s.at(gendisk + at); s.leadsBack(z, gendisk) {
			if d := (&disk{name: name, table: s.at(z)}); s.findTable(d) {
				return d
			}
		}
	}
	return nil
}

// name is that of a gendisk of zram, "" where it is none.
func (s *Swap) name(gendisk uint64) string {
	if !s.isKernel(gendisk) {
		return ""
	}
	var head [4]byte
	if s.Memory.Read(gendisk+nameAt, head[:]) < len(head) || string(head[:]) != prefix {
		return ""
	}
	name := s.Memory.CString(gendisk+nameAt, maxName)
	for _, c := range name[min(len(name), len(head)):] {
		if c < '0' || c > '9' {
			return ""
		}
	}
	return name
}

// leadsBack tells whether a struct zram, which has a table and a pool, is that of a disk.
func (s *Swap) leadsBack(z, gendisk uint64) bool {
	if !s.isKernel(z) || z == gendisk || !s.isKernel(s.at(z)) || !s.isKernel(s.at(z+s.word)) {
		return false
	}
	for i := uint64(firstDisk); i < lastDisk; i++ {
		if s.at(z+i*s.word) == gendisk {
			return true
		}
	}
	return false
}
