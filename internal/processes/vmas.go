package processes

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// vma is a struct vm_area_struct, which begins with vm_start and vm_end.
type vma struct {
	at uint64
	target.Range
}

// vmaFields are where a vm_area_struct has fields. vm_file follows pgoff.
type vmaFields struct{ mm, flags, pgoff field }

const (
	// headMM bounds where mm_struct has its mappings, and sizeVMA a vm_area_struct.
	headMM, sizeVMA = 512, 320
	// fewVMAs is from how many mappings on a list or a tree is one.
	fewVMAs = 3
)

// findMappings finds where address spaces have their mappings, and these their fields.
func (f *finder) findMappings(found []Process) bool {
	voters := found[:min(len(found), maxSpaces)]
	best := 0
	for _, maple := range [...]bool{false, true} {
		paths := [][]string{{"mmap"}}
		if maple {
			paths = [][]string{{"mm_mt", "ma_root"}}
		}
		for off := range f.offsets(headMM, "mm_struct", paths...) {
			if n := f.countVMAs(voters, off, maple); n > best {
				best, f.vmas, f.maple = n, field{off, true}, maple
			}
		}
	}
	return best > 0 && f.findOwner(voters) && f.findFlags(voters) && f.findFiles(voters)
}

// countVMAs counts the mappings that a field leads to, where it does so for more than half of the address spaces.
func (f *finder) countVMAs(voters []Process, off uint64, maple bool) (n int) {
	g, spaces := *f, 0
	g.vmas, g.maple = field{off, true}, maple
	for i := range voters {
		list := g.walk(voters[i].mm)
		if i == 2 && spaces == 0 {
			return 0
		}
		if len(list) >= fewVMAs {
			spaces++
			n += len(list)
		}
	}
	if spaces*2 <= len(voters) {
		return 0
	}
	return n
}

// walk are the mappings of an address space, by address.
func (f *finder) walk(mm uint64) (list []vma) {
	if root := f.at(mm + f.vmas.at); f.maple {
		f.node(mm, root, 0, ^uint64(0)>>(64-8*f.word), 0, &list)
	} else {
		f.chain(mm, root, &list)
	}
	return list
}

// vmaAt reads a mapping of an address space: one that points back to it.
func (f *finder) vmaAt(mm, p uint64) (v vma, ok bool) {
	if !f.isKernel(p) {
		return v, false
	}
	v = vma{p, target.Range{Lo: f.at(p), Hi: f.at(p + f.word)}}
	if !f.isUser(v.Lo, v.Hi) || !f.work.Draw(1) {
		return v, false
	}
	if f.vma.mm.known {
		return v, f.at(p+f.vma.mm.at) == mm
	}
	for off := 2 * f.word; off < sizeVMA; off += f.word {
		if f.at(p+off) == mm {
			return v, true
		}
	}
	return v, false
}

// chain follows a list by vm_next, behind vm_start and vm_end, which ascends.
func (f *finder) chain(mm, p uint64, list *[]vma) {
	for end := uint64(0); p != 0; p = f.at(p + 2*f.word) {
		v, ok := f.vmaAt(mm, p)
		if !ok || v.Lo < end {
			return
		}
		*list = append(*list, v)
		end = v.Hi
	}
}

// Kinds of maple nodes (enum maple_type), and what of a node's address tells the kind.
const (
	mapleLeaf, mapleRange, mapleGaps = 1, 2, 3
	mapleNode                        = 256
	maxDepth                         = 8
)

// slots are how many entries a node of a kind has.
func (f *finder) slots(kind uint64) uint64 {
	switch {
	case kind == mapleGaps && f.word == 8:
		return 10
	case kind == mapleGaps:
		return 21
	case f.word == 8:
		return 16
	}
	return 32
}

// node visits a node of a maple tree for the addresses lo to hi, both included: its parent, the last address of each entry but the
// last one, the entries. Entries behind one that ends at hi, or at 0, are left over.
func (f *finder) node(mm, entry, lo, hi uint64, depth int, list *[]vma) {
	kind, node := entry>>3&0xf, entry&^(mapleNode-1)
	if depth == maxDepth || kind < mapleLeaf || kind > mapleGaps || entry&3 == 0 && depth == 0 || !f.isKernel(node) || !f.work.Draw(1) {
		return
	}
	n := f.slots(kind)
	for i := range n {
		last := hi
		if i+1 < n {
			if last = f.at(node + (1+i)*f.word); last == 0 && i > 0 || last > hi {
				last = hi
			}
		}
		slot := f.at(node + (n+i)*f.word)
		if v, ok := f.vmaAt(mm, slot); kind == mapleLeaf && ok {
			if v.Lo == lo && v.Hi-1 == last {
				*list = append(*list, v)
			}
		} else if kind != mapleLeaf && slot != 0 {
			f.node(mm, slot, lo, last, depth+1, list)
		}
		if last == hi || last < lo {
			return
		}
		lo = last + 1
	}
}

// findOwner finds vm_mm.
func (f *finder) findOwner(voters []Process) bool {
	for off := range f.offsets(sizeVMA, "vm_area_struct", []string{"vm_mm"}) {
		if off >= 2*f.word && f.all(voters, func(p *Process, v vma) bool { return f.at(v.at+off) == p.mm }) {
			f.vma.mm = field{off, true}
			return true
		}
	}
	return false
}

// all tells whether something holds for all mappings of most address spaces.
func (f *finder) all(voters []Process, holds func(p *Process, v vma) bool) bool {
	n, of := 0, 0
	for i := range voters {
		list := f.walk(voters[i].mm)
		if len(list) < fewVMAs {
			continue
		}
		if of++; !slices.ContainsFunc(list, func(v vma) bool { return !holds(&voters[i], v) }) {
			n++
		}
	}
	return n*4 > of*3
}

// Flags of mappings (include/linux/mm.h); those that mprotect may set are four bits above.
const vmRead, vmWrite, vmExec, vmShared, mayBits = 1, 2, 4, 8, 4

// findFlags finds vm_flags: what may be is a part of what mprotect may set; the program's entry can be executed, and its stack written.
func (f *finder) findFlags(voters []Process) bool {
	for off := range f.offsets(sizeVMA, "vm_area_struct", []string{"vm_flags"}) {
		if off >= 2*f.word && f.all(voters, func(p *Process, v vma) bool {
			flags := f.at(v.at + off)
			may := flags >> mayBits
			return flags&0xf&^may == 0 && flags != 0 &&
				(!v.Contains(f.aux(p, atEntry)) || flags&(vmRead|vmExec) == vmRead|vmExec) &&
				(!v.Contains(f.stack(p)) || flags&(vmRead|vmWrite|vmShared) == vmRead|vmWrite)
		}) {
			f.vma.flags = field{off, true}
			return true
		}
	}
	return false
}

// mappings are those of an address space with what is known of them.
func (f *finder) mappings(mm uint64) []Mapping {
	list := f.walk(mm)
	out := make([]Mapping, 0, len(list))
	for _, v := range list {
		flags := f.at(v.at + f.vma.flags.at)
		m := Mapping{Range: v.Range, Perm: target.PermOf(flags&vmRead != 0, flags&vmWrite != 0, flags&vmExec != 0)}
		if file := f.at(v.at + f.vma.pgoff.at + f.word); f.vma.pgoff.known && f.isKernel(file) {
			m.Path, m.Offset = f.path(file), f.at(v.at+f.vma.pgoff.at)*pageSize
		}
		out = append(out, m)
	}
	return out
}
