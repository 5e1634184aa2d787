package vmcore

import (
	"context"
	"errors"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// space is the kernel's address space.
type space struct {
	memory   *target.Memory
	mappings []paging.Mapping
}

// virtual are the virtual addresses that show a physical one.
func (s *space) virtual(pa uint64) (at []uint64) {
	for _, m := range s.mappings {
		if pa-m.Physical < m.Size {
			at = append(at, m.Virtual+pa-m.Physical)
		}
	}
	return at
}

// translation finds the kernel's address space in physical memory.
type translation struct {
	ctx      context.Context // ends searches
	arch     *cpu.Arch
	physical *target.Memory
	info     vmcoreinfo.Info
}

// space builds the kernel's address space: what its page tables map and, on MIPS, the
// segments that no table maps. The error says what is missing.
func (t translation) space(k identity) (space, error) {
	all, err := t.mappings(k)
	var b target.Builder
	b.Until(t.ctx)
	for _, m := range all {
		perm := target.PermUnknown
		if m.Write || m.Exec {
			perm = target.PermRead
		}
		if m.Write {
			perm |= target.PermWrite
		}
		if m.Exec {
			perm |= target.PermExec
		}
		t.show(&b, m, perm)
	}
	return space{b.Memory(t.arch), all}, err
}

// mappings are all that shows the kernel physical memory.
func (t translation) mappings(k identity) (all []paging.Mapping, err error) {
	if machineOf(t.arch).mips {
		all = t.unmapped()
	}
	tables, ok := t.tables(k)
	if !ok {
		return all, errors.New("no page tables were found; what they map is missing")
	}
	mappings, err := tables.Mappings(t.ctx, t.lowest())
	if err != nil {
		err = fmt.Errorf("page tables at %#x: %w", tables.Root, err)
	}
	return append(all, mappings...), err
}

// lowest is where the kernel's half of the address space begins.
func (t translation) lowest() uint64 { return 1 << (8*t.arch.AddrSize - 1) }

// tables are the kernel's page tables: where VMCOREINFO says, else found by their contents.
func (t translation) tables(k identity) (paging.Tables, bool) {
	root, stated := t.info.Symbol("swapper_pg_dir")
	root -= k.offset
	switch mips := machineOf(t.arch).mips; {
	case !stated && !mips:
		return t.rootByContent(k)
	case !stated:
		var ok bool
		if root, ok = t.mipsRoot(k); !ok {
			return paging.Tables{}, false
		}
	}
	scheme, known := t.scheme(root)
	if skipped := machineOf(t.arch).skipped; skipped != nil {
		root += skipped(t, scheme)
	}
	return paging.Tables{Scheme: scheme, Physical: t.words(), Root: root}, known
}

// words is physical memory in the byte order of the processor.
func (t translation) words() *target.Memory {
	var b target.Builder
	b.Until(t.ctx)
	b.Grow(len(t.physical.Segments()))
	for i := range t.physical.Segments() {
		if s := &t.physical.Segments()[i]; s.Paged() {
			b.AddPaged(s.Addr, s.Rest, moved{t.physical, 0}, s.Perm)
		} else {
			b.Add(s.Addr, s.Data, s.Rest, s.Perm)
		}
	}
	return b.Memory(&cpu.Arch{AddrSize: 8, BigEndian: t.arch.BigEndian})
}

// show adds what there is of a mapping's physical memory.
func (t translation) show(b *target.Builder, m paging.Mapping, perm target.Perm) {
	va, pa, size := m.Virtual, m.Physical, m.Size
	segments := t.physical.Segments()
	for i := firstAt(segments, pa); i < len(segments) && segments[i].Addr < pa+size; i++ {
		s := &segments[i]
		lo, hi := max(s.Addr, pa), min(s.Addr+s.Size(), pa+size)
		if lo >= hi {
			continue
		}
		if s.Paged() {
			b.AddPaged(va+lo-pa, hi-lo, moved{t.physical, pa - va}, perm)
			continue
		}
		data := s.Data[min(lo-s.Addr, uint64(len(s.Data))):]
		data = data[:min(hi-lo, uint64(len(data)))]
		b.Add(va+lo-pa, data, hi-lo-uint64(len(data)), perm)
	}
}

// firstAt is the index of the first segment that reaches beyond an address.
func firstAt(segments []target.Segment, addr uint64) int {
	lo, hi := 0, len(segments)
	for lo < hi {
		k := (lo + hi) / 2
		if segments[k].Addr+segments[k].Size() <= addr {
			lo = k + 1
		} else {
			hi = k
		}
	}
	return lo
}

// moved is physical memory at other addresses, read on demand.
type moved struct {
	physical *target.Memory
	delta    uint64 // from the address to the physical one
}

// ReadPage implements target.Pager.
func (m moved) ReadPage(addr uint64, page []byte) (int, error) {
	return m.physical.Read(addr+m.delta, page), nil
}

// scheme is how the kernel's tables are laid out, the first of which has a physical address.
func (t translation) scheme(root uint64) (paging.Scheme, bool) {
	page := uint(12)
	for 1<<page < t.info.PageSize() {
		page++
	}
	vaBits, _ := t.info.Number("VA_BITS")
	m := machineOf(t.arch)
	if m.scheme == nil {
		return paging.Scheme{}, false
	}
	return m.scheme(t, root, page, uint(vaBits))
}
