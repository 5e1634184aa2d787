package edges

import (
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/target"
)

// Callers implements unwind.CallGraph. Example: mid_b of a module for MIPS is static. No data holds its
// address; with each of the four places where code builds the address (lui v0; addiu v0) goes a call through
// that register (-mlong-calls): the callers of mid_b are those four.
func (g *Graph) Callers(m *target.Module, pc uint64, mode cpu.Mode) (returns []uint64, all bool) {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return nil, false
	}
	begins := p.beginnings(p.at)
	if len(begins) == 0 {
		return nil, false
	}
	found := p.memos.callers.Get(begins[0], func() callers { return findCallers(p.program, m, begins) })
	for _, at := range found.returns {
		returns = append(returns, m.ToTarget(at))
	}
	return returns, found.all
}

// findCallers are the callers of the function in m that has these beginnings.
func findCallers(p *program, m *target.Module, begins []disasm.Addr) (c callers) {
	c.all = true
	for _, entry := range begins {
		s := callerSearch{p, m, entry}
		returns, all := s.run()
		c.returns, c.all = append(c.returns, returns...), c.all && all && !s.calledOtherwise()
	}
	slices.Sort(c.returns)
	c.returns = slices.Compact(c.returns)
	return c
}

// callerSearch looks for the callers of the function at entry in m.
type callerSearch struct {
	*program
	m     *target.Module
	entry disasm.Addr
}

// run lists where direct calls return to, and calls through a register that code has given the function's
// address. all: each place that builds the address does so for such a call, and no other function jumps there.
func (s *callerSearch) run() (returns []uint64, all bool) {
	mentions, all := discover.MentionsOf(s.Entries, s.entry, maxCallers)
	for _, in := range mentions {
		returns = append(returns, in.Returns...)
		if in.N > 0 {
			calls := s.callsOf(s.Flows.Function(in.Function))
			all = all && len(calls) >= in.N
			returns = append(returns, calls...)
		}
	}
	return returns, all
}

// calledOtherwise tells whether anything but this image's code may lead to a function: a pointer in data, be
// it only in the table of what other modules may call.
func (s *callerSearch) calledOtherwise() bool {
	if !s.Entries.HoldsPointers() || s.words().heldInData(s.entry) || s.words().inInstruction(s.entry) {
		return true
	}
	if sym, ok := s.Img.Symbols.At(s.entry.PC); ok {
		if _, exported := s.Img.Symbols.Named("__ksymtab_" + sym.Name); exported { // holds distances on arm64 and x86
			return true
		}
	}
	return false
}

// callsOf are where the calls of f through registers to the function return to.
func (s *callerSearch) callsOf(f *dataflow.Function) (returns []uint64) {
	text, ok := s.Img.Segments.At(f.Entry.PC)
	if !ok {
		return nil
	}
	step := max(s.Arch.InsnAlignIn(s.entry.Mode), 1)
	size := min(f.ContiguousEnd()-f.Entry.PC, maxCallerSize)
	for off := step; off <= size && len(returns) <= maxCallers; off += step {
		at := f.Entry.PC + off
		call, is := callsite.InSegment(s.m, text, at, s.entry.Mode)
		if !is || call.Direct {
			continue
		}
		if to, known := f.CallTarget(inImage(s.m, call.Addr)); known && to == s.entry {
			returns = append(returns, at)
		}
	}
	return returns
}

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
func (g *Graph) CallsTo(snap *target.Snapshot, m *target.Module, pc uint64, mode cpu.Mode) (returns []uint64, system int) {
	system = -1
	p, ok := g.in(m, pc, mode)
	if !ok {
		return nil, system
	}
	c := callsTo{capture: capture{g, snap}, m: m}
	c.entries = p.beginnings(p.at)
	for i := 0; i < len(c.entries); i++ {
		c.abroad(c.entries[i])
		c.direct(p.program, c.entries[i])
		c.tables(p.program, c.entries[i])
		if n := c.serves(p.program, c.entries[i]); n >= 0 && (system < 0 || n < system) {
			system = n
		}
	}
	slices.Sort(c.list)
	return c.list, system
}

// callsTo lists calls that lead to one of the entries, in m.
type callsTo struct {
	capture
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
		if table, ok := x.tableOf(h.at); ok && !p.words().isTraced(h.at) && !p.words().isWithin(".dynsym", h.at) {
			c.through(table, h.at-table)
		}
	}
}

// through adds the calls that read the function at a slot of a table. They read the table's address from a field of an
// object. The fields in which code stores the address come first; if no call reads those, the fields to which code copies
// the address.
func (c *callsTo) through(table, slot uint64) {
	fields, before := slices.Collect(maps.Keys(fieldsOf(c.capture, c.m, table))), len(c.list)
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
			list = append(list, moduleIndex{callIndexOf(c.of(m.Image)), m})
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
	if ra, ok := c.of(m.Image).ReturnAddress(at); ok && len(c.list) < maxCallsTo && !slices.Contains(c.list, m.ToTarget(ra)) {
		c.list = append(c.list, m.ToTarget(ra))
	}
}

// serves is the number at which the table of system calls has the function, the lowest where there are several; −1 where
// the table has no such function. Example: sys_write of Linux is there, and jumps to ksys_write.
func (c *callsTo) serves(p *program, entry disasm.Addr) (number int) {
	number = -1
	for _, h := range callIndexOf(p).wordsWith(entry.Key()) {
		if n, ok := inLongList(p.Img, h.at); ok && !p.words().isTraced(h.at) && (number < 0 || n < number) {
			number = n
		}
	}
	return number
}
