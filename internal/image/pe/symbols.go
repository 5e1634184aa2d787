package pe

import (
	"cmp"
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/pdata"
)

// container is the lazy part of an Image.
type container struct {
	file    *image.File
	pe      *file
	arch    *cpu.Arch
	img     *image.Image
	once    sync.Once
	names   []named // sorted by address
	onceIAT sync.Once
	imports []named // sorted by address
}

// named is a symbol: where its name lies. Of one address the best comes last.
type named struct {
	rva  uint32
	rank uint8
	at   uint32 // exports, imports: the name's RVA; symbols: the entry's number
}

const (
	static = iota // known to one object file
	external
	exported
)

// list is the functions that the file names, made when first asked for.
func (c *container) list() []named {
	c.once.Do(func() {
		c.names = append(c.pe.coffFunctions(), c.pe.exports()...)
		slices.SortFunc(c.names, func(a, b named) int {
			return cmp.Or(cmp.Compare(a.rva, b.rva), cmp.Compare(a.rank, b.rank), cmp.Compare(b.at, a.at))
		})
	})
	return c.names
}

// coffFunctions are the entries of the symbol table that name functions (PE Format, "COFF Symbol Table").
func (f *file) coffFunctions() (list []named) {
	const function, classExternal, classStatic = 0x20, 2, 3
	for i := 0; (i+1)*symbolSize <= len(f.symbols); i++ {
		r := bin.NewAt(f.symbols, uint64(i*symbolSize+8), false)
		value, number, typ, class, more := r.U32(), int(r.U16()), r.U16(), r.U8(), int(r.U8())
		if typ == function && number > 0 && number <= len(f.sections) && (class == classExternal || class == classStatic) {
			list = append(list, named{f.sections[number-1].where.rva + value, static, uint32(i)})
			if class == classExternal {
				list[len(list)-1].rank = external
			}
		}
		i += more // entries of another form, which belong to this one
	}
	return list
}

// exports are the code that the file exports by name (PE Format, "The .edata Section"). An address within the directory itself is
// another library's export.
func (f *file) exports() (list []named) {
	d := f.directory(exportDirectory)
	r := bin.New(f.bytes(d), false)
	r.Skip(20)
	functions, names := r.U32(), r.U32()
	addresses := bin.New(f.rest(r.U32()), false)
	pointers, ordinals := bin.New(f.rest(r.U32()), false), bin.New(f.rest(r.U32()), false)
	if d.size == 0 || r.Err() != nil {
		return nil
	}
	for range names {
		name, n := pointers.U32(), uint32(ordinals.U16())
		if pointers.Err() != nil || ordinals.Err() != nil {
			break
		}
		a := addresses
		a.Seek(uint64(n) * 4)
		if rva := a.U32(); a.Err() == nil && n < functions && rva-d.rva >= d.size && f.executable(rva) {
			list = append(list, named{rva, exported, name})
		}
	}
	return list
}

func (f *file) executable(rva uint32) bool {
	return slices.ContainsFunc(f.sections, func(s section) bool {
		return s.flags&execute != 0 && rva >= s.where.rva && rva-s.where.rva < s.where.size
	})
}

// name is the name of a symbol in the source: i386's C compilers put an underscore in front.
func (c *container) name(n *named) string {
	var s string
	switch f := c.pe; n.rank {
	case exported:
		return text(f.rest(n.at))
	default:
		field := f.symbols[n.at*symbolSize:][:8]
		if r := bin.New(field, false); r.U32() == 0 {
			s = f.long(uint64(r.U32()))
		} else {
			s = text(field)
		}
	}
	if c.arch.AddrSize == 4 && len(s) > 1 && s[0] == '_' {
		s = s[1:]
	}
	return s
}

func (c *container) symbol(n *named) image.Symbol {
	addr, mode := c.arch.SplitCode(c.pe.base + uint64(n.rva))
	return image.Symbol{Name: c.name(n), Addr: addr, Mode: mode}
}

// SymbolAt implements image.Container. Symbols have no sizes: one reaches to the next, to where .pdata says that another function
// begins, and to the end of its section.
func (c *container) SymbolAt(addr uint64) (image.Symbol, bool) {
	list := c.list()
	rva := addr - c.pe.base
	if rva > 1<<32-1 || !c.pe.executable(uint32(rva)) {
		return image.Symbol{}, false
	}
	i, _ := slices.BinarySearchFunc(list, uint32(rva), func(n named, rva uint32) int {
		if n.rva <= rva {
			return -1
		}
		return 1
	})
	seg, _ := c.img.Segments.At(addr)
	if i == 0 || seg == nil || c.pe.base+uint64(list[i-1].rva) < seg.Addr {
		return image.Symbol{}, false
	}
	s := c.symbol(&list[i-1])
	if f, ok := pdata.Find(c.img, addr); ok && f.Entry > s.Addr {
		return image.Symbol{}, false
	}
	return s, true
}

// SymbolNamed implements image.Container.
func (c *container) SymbolNamed(name string) (image.Symbol, bool) {
	list := c.list()
	for i := range list {
		if c.name(&list[i]) == name {
			return c.symbol(&list[i]), true
		}
	}
	return image.Symbol{}, false
}

// Functions implements image.Container.
func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	for _, n := range c.list() {
		if addr, mode := c.arch.SplitCode(c.pe.base + uint64(n.rva)); !yield(addr, mode, 0) {
			return
		}
	}
}

// Import names the function whose address the loader stores in a word of the import address table.
func (c *container) Import(addr uint64) (string, bool) {
	c.onceIAT.Do(func() { c.imports = c.pe.imported() })
	i, found := slices.BinarySearchFunc(c.imports, addr-c.pe.base, func(n named, rva uint64) int { return cmp.Compare(uint64(n.rva), rva) })
	if !found {
		return "", false
	}
	return text(c.pe.rest(c.imports[i].at)), true
}

// imported are the words of the import address table that are filled by name, sorted (PE Format, "The .idata Section").
func (f *file) imported() (list []named) {
	size := uint32(4)
	if f.wide {
		size = 8
	}
	left := len(f.in.Data) / int(size) // words to look at: tables may be one another
	for r := bin.New(f.bytes(f.directory(importDirectory)), false); r.Err() == nil; {
		lookup := r.U32()
		r.Skip(8) // time, forwarder
		library, table := r.U32(), r.U32()
		if library == 0 {
			break
		}
		if lookup == 0 {
			lookup = table
		}
		list = f.importedFrom(list, lookup, table, size, &left)
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.rva, b.rva) })
	return list
}

// importedFrom appends the words of one library's table: each a place behind a hint, where a name is, or a number with the highest
// bit set.
func (f *file) importedFrom(list []named, lookup, table, size uint32, left *int) []named {
	w := bin.New(f.rest(lookup), false)
	for ; *left > 0; table += size {
		*left--
		v := w.Uint(int(size))
		if v == 0 {
			break
		}
		if v>>(8*size-1) == 0 {
			list = append(list, named{rva: table, at: uint32(v) + 2})
		}
	}
	return list
}

// Section implements image.Container.
func (c *container) Section(name string) (image.Section, bool) {
	for i := range c.pe.sections {
		if s := &c.pe.sections[i]; s.name == name {
			out := image.Section{Name: name, Data: c.pe.raw(s)}
			if s.flags&(read|execute) != 0 {
				out.Addr = c.pe.base + uint64(s.where.rva)
			}
			return out, true
		}
	}
	return image.Section{}, false
}

// Files implements image.Backer.
func (c *container) Files() []*image.File { return []*image.File{c.file} }

// Close implements image.Container.
func (c *container) Close() error { return c.file.Close() }
