package macho

import (
	"sync"

	"github.com/backsight/backsight/internal/bin"
)

// Import implements what image.Image.Import asks: the name of the symbol whose address dyld
// stores in the word at addr. The indirect symbol table tells it of __got, __la_symbol_ptr and
// __auth_got; else what dyld is told to bind: opcodes, or chained fixups.
func (c *container) Import(addr uint64) (string, bool) {
	if name, ok := c.main.indirectAt(addr); ok {
		return name, true
	}
	if f := c.main; f.fixups.size != 0 {
		fixups := f.chained()
		return fixups.bindAt(addr)
	}
	name, ok := c.binds.of(c.main, c.img.Segments.LoadedBytes())[addr]
	return name, ok
}

// indirectAt is the symbol that the indirect symbol table has for a pointer.
func (f *file) indirectAt(addr uint64) (string, bool) {
	s, ok := f.sectionAt(addr)
	if !ok || !s.pointers() || (addr-s.addr)%f.addrSize() != 0 {
		return "", false
	}
	r := bin.NewAt(f.slice(f.indirect), 4*(uint64(s.index)+(addr-s.addr)/f.addrSize()), f.big)
	i := r.U32()
	t := f.symbols()
	if r.Err() != nil || i&(indirectLocal|indirectAbs) != 0 || uint64(i) >= uint64(t.len()) {
		return "", false
	}
	sym := t.at(int(i))
	name := t.name(&sym)
	return name, name != ""
}

// binds are the words that dyld binds by opcodes, with the symbols' names.
type binds struct {
	once  sync.Once
	words map[uint64]string
}

// How many words an image may have bound: browsers have some ten thousand. A program of ten
// bytes can bind each word of an image, and a map has forty bytes for a word.
const bindsFloor, bytesPerBind = 1 << 18, 64

// of runs the bind programs of a file that is loaded as so many bytes, once.
func (b *binds) of(f *file, loaded uint64) map[uint64]string {
	b.once.Do(func() {
		b.words = make(map[uint64]string)
		// Each word is bound once, or twice where a weak definition may replace it.
		left := int(min(2*loaded/f.addrSize(), bindsFloor+loaded/bytesPerBind))
		for i, x := range f.binds {
			p := binder{f: f, r: bin.New(f.slice(x), false), lazy: i == 2, left: left,
				bound: func(at uint64, name string) { b.words[at] = name }}
			p.run()
			left = p.left
		}
	})
	return b.words
}
