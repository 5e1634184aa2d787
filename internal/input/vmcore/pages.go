package vmcore

import (
	"context"
	"errors"

	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/internal/processes"
	"github.com/backsight/backsight/internal/zram"
	"github.com/backsight/backsight/target"
)

// programPages reads a program's memory through its page tables.
type programPages struct {
	tables  paging.Tables
	swapped *swapped
}

// ReadPage implements target.Pager. What is swapped out elsewhere than to zram, or not in the dump, is not there.
func (p *programPages) ReadPage(addr uint64, page []byte) (int, error) {
	if p.tables.Physical == nil || len(p.tables.Levels) == 0 {
		return 0, errors.New("no page tables")
	}
	pa, state := p.tables.Lookup(addr)
	switch state {
	case paging.Mapped:
		return p.tables.Physical.Read(pa, page), nil
	case paging.Kept:
		if data, err := p.swapped.read(pa); err == nil {
			return copy(page, data[addr%uint64(len(data)):]), nil
		}
	}
	return 0, nil
}

// whyMissing says why the page at a stack pointer is not there; "" where it is.
func (p *programPages) whyMissing(sp uint64) string {
	if len(p.tables.Levels) == 0 {
		return "the stack is not there: no page tables were found"
	}
	pa, state := p.tables.Lookup(sp)
	switch _, there := p.tables.Physical.PermAt(pa); {
	case state == paging.Kept:
		if _, err := p.swapped.read(pa); err != nil {
			return "the stack is swapped out: " + err.Error()
		}
	case state == paging.Unmapped:
		return "the stack is mapped to no memory"
	case !there:
		return "the stack is not in the dump, from which a program's memory was left out"
	}
	return ""
}

// swapped is what a kernel swapped out.
type swapped struct {
	zram *zram.Swap
	err  error // why nothing of it can be read
}

// read reads the page that an entry of a page table stands for.
func (s *swapped) read(entry uint64) (*[smallPage]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	page := new([smallPage]byte)
	return page, s.zram.Read(entry, page)
}

const (
	// smallPage is the size of the pages of kernels whose zram is read.
	smallPage = 4096
	// lookedUp is how many of the last pages of each mapping are looked up to find how entries lead to what was swapped out, allLookedUp
	// how many of all, and mostKept how many are enough.
	lookedUp, allLookedUp, mostKept = 1 << 8, 1 << 20, 1 << 14
)

// swapped finds what the kernel swapped out of processes to zram.
func (s *machineStream) swapped(ctx context.Context, list []processes.Process) *swapped {
	kept := keptOf(list)
	switch {
	case len(kept) == 0:
		return &swapped{err: zram.ErrNone}
	case s.dump.info.PageSize() != smallPage:
		return &swapped{err: errors.New("pages of 4 KB only are read")}
	}
	k := zram.Kernel{Arch: s.dump.arch, Memory: s.view.space.memory, Physical: list[0].Tables.Physical}
	if table := s.view.kernel.table; table != nil {
		areas, _ := table.Named("swap_info")
		k.Areas = areas.Addr
	}
	k.Pages, k.PageSize = s.pageStructs()
	out := &swapped{}
	out.zram, out.err = zram.Find(ctx, &k, kept)
	return out
}

// keptOf are entries of pages that are not in memory, of the ends of mappings.
func keptOf(list []processes.Process) (kept []uint64) {
	looks := 0
	for i := range list {
		p := &list[i]
		for k := range p.Maps {
			m := &p.Maps[k]
			if m.Perm&target.PermWrite == 0 || len(p.Tables.Levels) == 0 {
				continue
			}
			for n := uint64(1); n <= lookedUp && n*smallPage <= m.Hi-m.Lo && len(kept) < mostKept && looks < allLookedUp; n++ {
				looks++
				if entry, state := p.Tables.Lookup(m.Hi - n*smallPage); state == paging.Kept {
					kept = append(kept, entry)
				}
			}
		}
	}
	return kept
}

// pageStructs is the address of the struct page of physical address 0, and that structure's size; 0 where VMCOREINFO does not lead there.
// What a section of memory says of its array, in bits above those of flags, is the same for all sections where the arrays lie one behind
// another, as they do on 64-bit kernels (include/linux/mmzone.h, section_mem_map).
func (s *machineStream) pageStructs() (at, size uint64) {
	info, memory, word := s.dump.info, s.view.space.memory, uint64(s.dump.arch.AddrSize)
	size, _ = info.Size("page")
	if array, ok := info.Symbol("mem_map"); ok {
		at, _ = memory.Word(array)
		segs := s.dump.physical.Segments()
		if at == 0 || len(segs) == 0 {
			return 0, 0
		}
		return at - segs[0].Addr/smallPage*size, size // flat memory begins where memory does
	}
	sections, ok := info.Symbol("mem_section")
	each, _ := info.Size("mem_section")
	field, _ := info.Offset("mem_section.section_mem_map")
	if !ok || each < word || each > smallPage {
		return 0, 0
	}
	const present, flags = 3, 1<<6 - 1                                          // SECTION_MARKED_PRESENT, SECTION_HAS_MEM_MAP
	if root, _ := memory.Word(sections); root != 0 && root&present != present { // pages of them, as SPARSEMEM_EXTREME has them
		sections = root
	}
	for i := uint64(0); i+each <= smallPage; i += each {
		if v, _ := memory.Word(sections + i + field); v&present == present {
			return v &^ flags, size
		}
	}
	return 0, 0
}
