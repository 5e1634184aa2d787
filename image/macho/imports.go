package macho

import "github.com/backsight/backsight/internal/bin"

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
	name, ok := c.boundWords()[addr]
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

// boundWords are the words that dyld binds by opcodes, with the symbols' names.
func (c *container) boundWords() map[uint64]string {
	c.bindsOnce.Do(func() {
		c.binds = make(map[uint64]string)
		// Each word is bound once, or twice where a weak definition may replace it.
		left := 2 * int(c.img.LoadedBytes()/c.main.addrSize())
		for i, x := range c.main.binds {
			b := binder{f: c.main, r: bin.New(c.main.slice(x), false), lazy: i == 2, words: c.binds, left: left}
			b.run()
			left = b.left
		}
	})
	return c.binds
}

// The opcodes of dyld's bind and rebase programs (mach-o/loader.h): the upper four bits; the
// lower are an immediate.
const (
	opcodeMask    = 0xf0
	immediateMask = 0x0f

	bindDone           = 0x00
	bindOrdinalImm     = 0x10
	bindOrdinalULEB    = 0x20
	bindSpecialImm     = 0x30
	bindSymbol         = 0x40
	bindTypeImm        = 0x50
	bindAddend         = 0x60
	bindSegment        = 0x70
	bindAddAddr        = 0x80
	bindDo             = 0x90
	bindDoAddAddr      = 0xa0
	bindDoAddAddrImm   = 0xb0
	bindDoTimesSkipped = 0xc0
)

// binder runs a bind program.
type binder struct {
	f     *file
	r     bin.Reader
	lazy  bool // programs of one word each, with "done" between them
	words map[uint64]string
	left  int

	name string
	at   uint64
}

func (b *binder) run() {
	for b.r.Len() > 0 && b.r.Err() == nil && b.left > 0 {
		if op := b.r.U8(); !b.step(op&opcodeMask, uint64(op&immediateMask)) {
			return
		}
	}
}

// step executes an opcode. It reports false at the end of the program.
func (b *binder) step(op byte, imm uint64) bool {
	r, word := &b.r, b.f.addrSize()
	switch op {
	case bindDone:
		return b.lazy
	case bindOrdinalImm, bindSpecialImm, bindTypeImm:
	case bindOrdinalULEB, bindAddend: // SLEB128 has the same length
		r.ULEB()
	case bindSymbol:
		b.name = plainName(r.CBytes())
	case bindSegment:
		b.at = b.f.inSegment(imm, r.ULEB())
	case bindAddAddr:
		b.at += r.ULEB()
	case bindDo:
		b.bind(0)
	case bindDoAddAddr:
		b.bind(r.ULEB())
	case bindDoAddAddrImm:
		b.bind(imm * word)
	case bindDoTimesSkipped:
		times, skip := r.ULEB(), r.ULEB()
		for ; times > 0 && b.left > 0; times-- {
			b.bind(skip)
		}
	default: // threaded binds of the first arm64e systems
		return false
	}
	return true
}

// bind notes the word at the current address, and goes on skip bytes behind it.
func (b *binder) bind(skip uint64) {
	b.left--
	if b.name != "" {
		b.words[b.at] = b.name
	}
	b.at += skip + b.f.addrSize()
}

// inSegment is the address of an offset in the i-th segment.
func (f *file) inSegment(i, off uint64) uint64 {
	if i >= uint64(len(f.segments)) {
		return 0
	}
	return f.segments[i].addr + off
}
