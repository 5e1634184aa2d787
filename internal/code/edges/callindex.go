package edges

import (
	"cmp"
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// tablePath is how a call reads its target: in a table, at slot, of which a pointer lies in some object, at field.
//
//	proc_reg_write   lw v1,28(s0); lw v1,16(v1); jalr v1      pde->proc_ops->proc_write: field 28, slot 16
//	vfs_write        lw v1,20(s1); lw v0,12(v1); jalr v0      file->f_op->write: field 20, slot 12
//
// Most paths have few calls: of 6,800 calls through pointers in a Linux kernel for MIPS one has the first path, and
// 19 have the second.
type tablePath struct{ field, slot uint64 }

// callIndex has the calls of an image by their paths, and which words are copied from one field to another. The lists are
// sorted.
type callIndex struct {
	paths map[tablePath][]disasm.Addr
	// copies are words that some function reads from one field, and writes to another: do_dentry_open of Linux makes an inode's
	// i_fop the f_op of the file.
	copies []keyed
	held   []keyed // words of data that point to code
}

// keyed is what an index has under a key: under code the address of a word that points there, under a field that is read the field
// that is written.
type keyed struct{ key, value uint64 }

func compareKeyed(a, b keyed) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value))
}

// having is the part of a sorted list that has a key.
func having(list []keyed, key uint64) []keyed {
	i := sort.Search(len(list), func(i int) bool { return list[i].key >= key })
	n := i
	for n < len(list) && list[n].key == key {
		n++
	}
	return list[i:n]
}

type callIndexKey struct{}

// callIndexOf is the index of a program, made when first needed, by one pass through the functions.
func callIndexOf(p *program) *callIndex {
	return p.Img.Memo(callIndexKey{}, func() any { return newCallIndex(p) }).(*callIndex)
}

// maxIndexed bounds the instructions of an index.
const maxIndexed = 8 << 20

func newCallIndex(p *program) *callIndex {
	x := &callIndex{paths: map[tablePath][]disasm.Addr{}}
	seen := map[keyed]struct{}{}
	left := maxIndexed
	starts := p.Entries.Certain()
	for i, key := range starts {
		f := functionReads{reads: newReads(p.Code), entry: p.Addr(key), index: x, copies: seen}
		end := p.Addr(key).PC + maxCallerSize
		if i+1 < len(starts) {
			end = min(end, p.Addr(starts[i+1]).PC)
		}
		if left -= f.run(end, left); left <= 0 {
			break
		}
	}
	for c := range seen {
		x.copies = append(x.copies, c)
	}
	slices.SortFunc(x.copies, compareKeyed)
	x.holdPointers(p)
	slices.SortFunc(x.held, compareKeyed)
	return x
}

// holdPointers notes the words of data that point to code.
func (x *callIndex) holdPointers(p *program) {
	size := uint64(p.Arch.AddrSize)
	for i := range p.Img.Segments {
		seg := &p.Img.Segments[i]
		skip := min(-seg.Addr&(size-1), uint64(len(seg.Data)))
		for at := range (target.Range{Lo: seg.Addr + skip, Hi: seg.Addr + uint64(len(seg.Data))}).Words(size) {
			if v, ok := p.Img.Word(at); ok && v != 0 && p.Img.Segments.Executable(v) {
				x.held = append(x.held, keyed{v, at})
			}
		}
	}
}

// functionReads adds the calls and the copies of one function to an index.
type functionReads struct {
	reads
	entry  disasm.Addr
	index  *callIndex
	copies map[keyed]struct{}
}

// run looks through the instructions from the entry to end, at most as many as are left, and says how many those were.
func (f *functionReads) run(end uint64, left int) (n int) {
	disasm.Each(f.code, f.entry, end, func(at disasm.Addr, in *cpu.Insn) bool {
		f.note(at, in)
		f.follow(at.PC, in)
		n++
		return n < left
	})
	return n
}

// note adds what an instruction is to the index.
func (f *functionReads) note(at disasm.Addr, in *cpu.Insn) {
	switch in.Op {
	case cpu.OpCall:
		if v := f.called(at, in); in.Target == 0 && v.known && v.inField {
			path := tablePath{v.field, v.offset}
			f.index.paths[path] = append(f.index.paths[path], at)
		}
	case cpu.OpStore:
		if field, ok := storedField(f.code.Arch, in); ok && in.Src < cpu.MaxRegs && f.at[in.Src].known {
			f.copies[keyed{f.at[in.Src].offset, field}] = struct{}{}
		}
	}
}

// maxField bounds the offsets of pointers to tables in objects.
const maxField = maxSlot

// storedField is the field of an object that an instruction stores a pointer in.
func storedField(arch *cpu.Arch, in *cpu.Insn) (field uint64, ok bool) {
	ok = in.Op == cpu.OpStore && in.Index == cpu.NoReg && in.Base < cpu.MaxRegs && in.Base != arch.SP && int(in.Size) == arch.AddrSize &&
		in.Imm >= 0 && in.Imm < maxField
	return uint64(in.Imm), ok
}
