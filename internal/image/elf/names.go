package elf

import (
	"bytes"
	"hash/maphash"

	"github.com/backsight/backsight/internal/budget"
)

// maxNamed is how many names are looked for in the tables themselves before there is an
// index. To make the index takes as long as two of these: most time goes into reading
// names all over the string table.
const maxNamed = 1

// nameIndex finds the best symbol of a name: a hash table with a ref, see refShift, for
// each name.
type nameIndex struct {
	tables []symtab
	seed   maphash.Seed
	refs   []uint32      // a power of two, some of them noRef
	read   budget.Budget // bytes of names
}

// How many bytes of names are read for the index. The names of a linked file are as long as its
// string table together, or twice as long where short ones are the ends of others; a hostile
// table of 64 KB could be a million names of that length.
const namesFloor, namesPerByte = 1 << 20, 8

func newNames(tables []symtab) nameIndex {
	total, strings := 0, uint64(0)
	for n := range tables {
		total += min(tables[n].len(), refMask)
		strings += uint64(len(tables[n].str))
	}
	size := 16
	for size < 2*total {
		size *= 2
	}
	x := nameIndex{tables: tables, seed: maphash.MakeSeed(), refs: make([]uint32, size),
		read: budget.New("bytes of names", namesFloor, namesPerByte*strings)}
	for i := range x.refs {
		x.refs[i] = noRef
	}
	for n := range tables {
		for i := range min(tables[n].len(), refMask) {
			x.add(uint32(n)<<refShift | uint32(i))
		}
	}
	return x
}

// add adds a symbol, unless there is a better one of its name, or its name is more than is read.
func (x *nameIndex) add(ref uint32) {
	t, s := x.at(ref)
	if !t.isDefined(&s) || !t.hasName(&s) || x.read.Err() != nil {
		return
	}
	name, _ := t.bareName(&s)
	if len(name) == 0 { // the string does not end
		x.read.Draw(maxName)
		return
	}
	if !x.read.Draw(len(name)) {
		return
	}
	at := x.slot(name)
	if x.refs[at] != noRef {
		if u, o := x.at(x.refs[at]); t.symbolRank(int(ref&refMask), &s) <= u.symbolRank(int(x.refs[at]&refMask), &o) {
			return
		}
	}
	x.refs[at] = ref
}

// slot is where the ref of a name is, or would be.
func (x *nameIndex) slot(name []byte) int {
	for h := maphash.Bytes(x.seed, name); ; h++ {
		at := int(h) & (len(x.refs) - 1)
		if x.refs[at] == noRef {
			return at
		}
		t, s := x.at(x.refs[at])
		if known, _ := t.bareName(&s); bytes.Equal(known, name) {
			return at
		}
	}
}

// at is the symbol of a ref.
func (x *nameIndex) at(ref uint32) (*symtab, sym) {
	t := &x.tables[ref>>refShift]
	return t, t.at(int(ref & refMask))
}
