package macho

import (
	"sync"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// trie is an exports trie (dyld's launch-cache/MachOTrie.hpp): a node is the ULEB128 size of what
// it says of the name so far, flags and an offset from the mach header, then a byte that counts
// its edges, each a string and the ULEB128 offset of the node behind it.
type trie struct {
	data []byte
	base uint64 // address of the mach header
}

// exports is the trie of the file's exported symbols; empty where the symbol table has them as well.
func (f *file) exports() trie {
	if f.symtab.size != 0 && !f.noDefined {
		return trie{}
	}
	return trie{f.slice(f.linkedit.exports), f.textAddr()}
}

// Kinds and flags of an export (EXPORT_SYMBOL_FLAGS_* in mach-o/loader.h).
const (
	exportKind     = 0x3 // 0 regular, 1 thread-local, 2 absolute
	exportReexport = 0x8
)

// terminal reads the head of the node that r is at, and leaves r at the node's edges. addr is the
// address of the symbol whose name the path to the node spells; ok is false where the path is only the
// beginning of names.
func (t *trie) terminal(r *bin.Reader) (addr uint64, ok bool) {
	size := r.ULEB()
	if size == 0 {
		return 0, false
	}
	end := uint64(r.Offset()) + size
	flags, off := r.ULEB(), r.ULEB()
	ok = uint64(r.Offset()) <= end && flags&(exportReexport|exportKind) == 0
	r.Seek(end)
	return t.base + off, ok && r.Err() == nil
}

// named is the address of a name as the source spells it: one way from the root, first with the
// underscore of the C compiler.
func (t *trie) named(name string) (addr uint64, ok bool) {
	if len(t.data) == 0 {
		return 0, false
	}
	if addr, ok = t.exactly("_" + name); !ok {
		addr, ok = t.exactly(name)
	}
	return addr, ok
}

func (t *trie) exactly(name string) (addr uint64, ok bool) {
	at := uint64(0)
	for range len(name) + 1 {
		edges := bin.NewAt(t.data, at, false)
		addr, ok := t.terminal(&edges)
		if name == "" {
			return addr, ok
		}
		found := false
		for range edges.U8() {
			edge, to := edges.CBytes(), edges.ULEB()
			if n := len(edge); n > 0 && n <= len(name) && name[:n] == string(edge) {
				name, at, found = name[n:], to, edges.Err() == nil
				break
			}
		}
		if !found {
			break
		}
	}
	return 0, false
}

// exported are the functions and objects of a trie.
type exported struct {
	once sync.Once
	list []export
}

// export is a name in the file's own spelling, and its address with the ISA mode bit.
type export struct {
	addr uint64
	name []byte
}

// nameBlock is how many bytes of names share a piece of memory.
const nameBlock = 1 << 18

// of walks the trie of a file, once.
func (e *exported) of(f *file) []export {
	e.once.Do(func() {
		t := f.exports()
		// Of a library with 130,000 exports the trie has 28 bytes for each.
		e.list = make([]export, 0, len(t.data)/24)
		var block []byte
		t.each(func(addr uint64, name []byte) {
			if cap(block)-len(block) < len(name) {
				block = make([]byte, 0, max(min(nameBlock, 2*len(t.data)), len(name)))
			}
			n := len(block)
			block = append(block, name...)
			e.list = append(e.list, export{addr, block[n:len(block):len(block)]})
		})
	})
	return e.list
}

// nameBytes bounds the bytes of all names, in those of the trie: names share what they begin with,
// so that a hostile trie of 100 kB could spell gigabytes. Those of C++ and Swift have two or three.
const nameFloor, nameBytes = 1 << 16, 5

// branch is a node whose edges are being followed.
type branch struct {
	at   uint64 // offset of the next edge
	left uint8  // edges to come
	name int    // length of the name that leads to the node
}

// each calls yield for every function and object that the trie has. The name, in the file's
// spelling, is overwritten behind the call.
func (t *trie) each(yield func(addr uint64, name []byte)) {
	if len(t.data) == 0 {
		return
	}
	r := bin.New(t.data, false)
	var name []byte // so far
	var open []branch
	left := budget.New("bytes of exported names", nameFloor, nameBytes*uint64(len(t.data)))
	seen := make([]uint64, len(t.data)/64+1) // a bit for each byte that a node began at: no node is reached twice
	enter := func(at uint64) {
		if at >= uint64(len(t.data)) || seen[at/64]>>(at%64)&1 != 0 {
			return
		}
		seen[at/64] |= 1 << (at % 64)
		r.Seek(at)
		if addr, ok := t.terminal(&r); ok && left.Draw(len(name)) {
			yield(addr, name)
		}
		if n := r.U8(); n > 0 {
			open = append(open, branch{uint64(r.Offset()), n, len(name)})
		}
	}
	for enter(0); len(open) > 0; {
		b := &open[len(open)-1]
		if r.Err() != nil { // in another node
			r = bin.New(t.data, false)
		}
		r.Seek(b.at)
		edge, to := r.CBytes(), r.ULEB()
		if r.Err() != nil || b.name+len(edge) > maxName || !left.Draw(1+len(edge)) {
			open = open[:len(open)-1]
			continue
		}
		name = append(name[:b.name], edge...)
		b.at = uint64(r.Offset())
		if b.left--; b.left == 0 {
			open = open[:len(open)-1]
		}
		enter(to)
	}
}
