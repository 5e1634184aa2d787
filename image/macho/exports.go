package macho

import (
	"slices"

	"github.com/backsight/backsight/internal/bin"
)

// export is what the exports trie says of a name.
type export struct {
	name string
	addr uint64
}

// Bounds of the exports trie: a node has two bytes at least, and is reached once; a name is no
// longer than maxName. exportBytes bounds the bytes of all names: tries share what names begin
// with, so that a hostile one of 100 kB could spell gigabytes.
const exportBytes = 64

// exported are the functions and objects that the file exports. They are read where the symbol
// table does not have them.
func (c *container) exported() []export {
	if c.main.symtab.size != 0 && !c.main.noDefined {
		return nil
	}
	c.trieOnce.Do(func() {
		w := trieWalk{data: c.main.slice(c.main.exports), base: c.main.textAddr()}
		c.trie = w.exports()
	})
	return c.trie
}

// trieWalk walks an exports trie (dyld's launch-cache/MachOTrie.hpp): a node is the ULEB128
// size of what it says of the name so far, flags and an offset from the mach header, then a
// byte that counts its edges, each a string and the ULEB128 offset of the node behind it.
type trieWalk struct {
	data []byte
	base uint64
	out  []export
	seen []uint64 // a bit for each byte that a node began at: no node is reached twice
	left int      // bytes of names that may still be spelled
}

// node is a node yet to be read, and the name that leads there.
type node struct {
	at   uint64
	name []byte
}

// Kinds and flags of an export (EXPORT_SYMBOL_FLAGS_* in mach-o/loader.h).
const (
	exportKind     = 0x3 // 0 regular, 1 thread-local, 2 absolute
	exportReexport = 0x8
)

func (w *trieWalk) exports() []export {
	w.seen = make([]uint64, len(w.data)/64+1)
	w.left = exportBytes * len(w.data)
	for todo := []node{{}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = w.node(n, todo[:len(todo)-1])
	}
	return w.out
}

// node reads a node and appends those behind it to todo.
func (w *trieWalk) node(n node, todo []node) []node {
	if n.at >= uint64(len(w.data)) || w.seen[n.at/64]>>(n.at%64)&1 != 0 {
		return todo
	}
	w.seen[n.at/64] |= 1 << (n.at % 64)
	r := bin.NewAt(w.data, n.at, false)
	says := bin.New(r.Bytes(r.ULEB()), false)
	if says.Len() > 0 {
		w.terminal(n.name, &says)
	}
	for range r.U8() {
		edge, to := r.CBytes(), r.ULEB()
		w.left -= len(n.name) + len(edge)
		if r.Err() != nil || w.left < 0 || len(n.name)+len(edge) > maxName {
			break
		}
		todo = append(todo, node{to, slices.Concat(n.name, edge)})
	}
	return todo
}

func (w *trieWalk) terminal(name []byte, r *bin.Reader) {
	flags, off := r.ULEB(), r.ULEB()
	if r.Err() == nil && flags&exportReexport == 0 && flags&exportKind == 0 {
		w.out = append(w.out, export{plainName(name), w.base + off})
	}
}
