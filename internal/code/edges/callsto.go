package edges

import (
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// The most calls that are listed as leading to a function, and functions that end in jumps there.
const (
	maxCallsTo  = 256
	maxJumpsTo  = 8
	maxTableOf  = 64 // words that hold the function
	maxOnePath  = 64 // calls of a path that tell something: tables that are the first words of objects are read everywhere
	maxSearched = 16 // modules
)

// CallsTo implements unwind.CallGraph. Example: crashy_init of a module hands on a table, of which the word at 16
// is crashy_write, and of which the kernel keeps the address in the field 28 of an object. Of the kernel's calls
// one alone reads what it calls at 16 of what it has read at 28: that of proc_reg_write.
func (w *Graph) CallsTo(snap *target.Snapshot, m *target.Module, pc uint64, mode cpu.Mode) (returns []uint64, system int) {
	system = -1
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return nil, system
	}
	p := w.of(m.Image)
	c := callsTo{src: w, snap: snap, m: m}
	c.entries = p.beginnings(disasm.Addr{PC: inImage(m, pc), Mode: mode})
	for i := 0; i < len(c.entries); i++ {
		c.abroad(c.entries[i])
		c.direct(p, c.entries[i])
		c.tables(p, c.entries[i])
		if n := c.serves(p, c.entries[i]); n >= 0 && (system < 0 || n < system) {
			system = n
		}
	}
	slices.Sort(c.list)
	return c.list, system
}

// callsTo lists calls that lead to one of the entries, in m.
type callsTo struct {
	src     *Graph
	snap    *target.Snapshot
	m       *target.Module
	entries []disasm.Addr
	list    []uint64
}

// direct adds the calls in the function's own module whose target instructions or constants tell, and the functions
// that end in a jump there to the entries.
func (c *callsTo) direct(p *program, entry disasm.Addr) {
	for _, d := range callIndexOf(p).callsOf(entry.PC) {
		switch {
		case !d.jump:
			c.add(c.m, d.site)
		case len(c.entries) < maxJumpsTo && !slices.Contains(c.entries, d.site):
			c.entries = append(c.entries, d.site)
		}
	}
}

// abroad adds the calls in other modules whose target instructions or constants tell. Modules of Linux for MIPS build the
// addresses of the kernel's functions (-mlong-calls).
func (c *callsTo) abroad(entry disasm.Addr) {
	for _, x := range c.indices() {
		if x.module == c.m {
			continue
		}
		for _, d := range x.callsOf(inImage(x.module, c.m.ToTarget(entry.PC))) {
			if !d.jump {
				c.add(x.module, d.site)
			}
		}
	}
}

// tables adds the calls that read the function from tables.
func (c *callsTo) tables(p *program, entry disasm.Addr) {
	x := callIndexOf(p)
	for i, h := range x.wordsWith(entry.Key()) {
		if i >= maxTableOf {
			break
		}
		if table, ok := x.tableOf(h.at); ok && !isTraced(p.Img, h.at) && !listsAll(p.Img, h.at) {
			c.through(table, h.at-table)
		}
	}
}

// through adds the calls that read at a slot of a table: those that read the table's address where code stores that; if
// there are none, those that read the address where some code copies it.
func (c *callsTo) through(table, slot uint64) {
	fields, before := slices.Collect(maps.Keys(fieldsOf(c.src, c.snap, c.m, table))), len(c.list)
	indices := c.indices()
	for _, x := range indices {
		for _, field := range fields {
			c.addPath(x, tablePath{field, slot})
		}
	}
	if len(c.list) > before {
		return
	}
	for _, x := range indices {
		for _, field := range fields {
			for _, copied := range x.from(field) {
				c.addPath(x, tablePath{copied.to, slot})
			}
		}
	}
}

// moduleIndex is the index of a module.
type moduleIndex struct {
	*callIndex
	module *target.Module
}

// indices are those of the modules in which calls are looked for.
func (c *callsTo) indices() (list []moduleIndex) {
	for i, m := range c.snap.Modules {
		if i < maxSearched && m.Image != nil && m.Image.Arch == c.m.Image.Arch {
			list = append(list, moduleIndex{callIndexOf(c.src.of(m.Image)), m})
		}
	}
	return list
}

// addPath adds the calls of one path in a module.
func (c *callsTo) addPath(x moduleIndex, path tablePath) {
	if sites := x.paths[path]; len(sites) <= maxOnePath {
		for _, at := range sites {
			c.add(x.module, at)
		}
	}
}

// add adds the call at a place in a module.
func (c *callsTo) add(m *target.Module, at disasm.Addr) {
	if ra, ok := c.src.of(m.Image).ReturnAddress(at); ok && len(c.list) < maxCallsTo && !slices.Contains(c.list, m.ToTarget(ra)) {
		c.list = append(c.list, m.ToTarget(ra))
	}
}
