package processes

import "github.com/backsight/backsight/internal/paging"

// tableAlign is what the first table of a process is aligned to at least: that of ARM's long descriptors has 32 bytes.
const tableAlign = 32

// findTables finds mm_struct.pgd, and how tables are laid out: those translate the addresses of most programs' entry, headers and stack.
func (f *finder) findTables(found []Process) {
	voters, best := found[:min(len(found), maxSpaces)], 0
	for off := range f.offsets(headMM, "mm_struct", []string{"pgd"}) {
		g := *f
		g.pgd = field{off, true}
		for _, scheme := range f.Schemes {
			if n := g.translated(voters, scheme); n > best {
				best, f.pgd, f.scheme = n, g.pgd, scheme
			}
		}
	}
	f.pgd.known = f.pgd.known && best >= len(voters)
}

// root is the physical address of an address space's first table.
func (f *finder) root(mm uint64) (uint64, bool) {
	pgd := f.at(mm + f.pgd.at)
	if !f.pgd.known || !f.isKernel(pgd) || pgd%tableAlign != 0 {
		return 0, false
	}
	return f.At(pgd)
}

// translated counts what tables translate; an ELF header, where program headers are on its page, counts more.
func (f *finder) translated(voters []Process, scheme paging.Scheme) (n int) {
	roots := map[uint64]bool{}
	for i := range voters {
		p := &voters[i]
		root, ok := f.root(p.mm)
		if i == 4 && n == 0 || !ok || roots[root] {
			continue
		}
		roots[root] = true
		t := paging.Tables{Scheme: scheme, Physical: f.Physical, Root: root}
		for _, addr := range [...]uint64{f.aux(p, atEntry), f.stack(p)} {
			if _, ok := t.Translate(addr &^ (pageSize - 1)); ok && addr != 0 {
				n++
			}
		}
		const magic = 0x464c457f
		if pa, ok := t.Translate(f.aux(p, atPHdr) &^ (pageSize - 1)); ok {
			var head [4]byte
			if f.Physical.Read(pa, head[:]) == 4 && uint32(head[0])|uint32(head[1])<<8|uint32(head[2])<<16|uint32(head[3])<<24 == magic {
				n += 4
			}
		}
	}
	return n
}
