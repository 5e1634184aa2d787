package edges

import (
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Callers implements stackwalk.CallGraph. Example: mid_b of a module for MIPS is static. No data holds its
// address; with each of the four places where code builds the address (lui v0; addiu v0) goes a call through
// that register (-mlong-calls): the callers of mid_b are those four.
//
// Example of a table: crashy_init of a module hands one on, of which the word at 16 is crashy_write, and of which the
// kernel keeps the address in the field 28 of an object. Of the kernel's calls one alone reads what it calls at 16 of what
// it has read at 28: that of proc_reg_write.
func (g *Graph) Callers(snap *target.Snapshot, m *target.Module, pc uint64, mode cpu.Mode) (c stackwalk.Calls) {
	c.System = -1
	p, ok := g.in(m, pc, mode)
	if !ok {
		return c
	}
	begins := p.beginnings(p.at)
	if len(begins) == 0 {
		return c
	}
	if snap != nil {
		w := callsTo{capture: capture{g, snap}, m: m, entries: begins}
		c.System = w.run(p.program)
		c.Returns = w.list
		return c
	}
	found := p.memos.callers.Get(begins[0], func() callers { return findCallers(p.program, m, begins) })
	for _, at := range found.returns {
		c.Returns = append(c.Returns, m.ToTarget(at))
	}
	c.All = found.all
	return c
}

// findCallers are the callers of the function in m that has these beginnings.
func findCallers(p *program, m *target.Module, begins []disasm.Addr) (c callers) {
	c.all = true
	for _, entry := range begins {
		s := place{p, m, entry}
		returns, _, all := s.straightCallers(maxCallers)
		c.returns, c.all = append(c.returns, returns...), c.all && all && !s.calledOtherwise()
	}
	slices.Sort(c.returns)
	c.returns = slices.Compact(c.returns)
	return c
}

// straightCallers lists where direct calls of the function at the place return to, and calls through a register that code
// has given the function's address, in up to most functions, and the functions that jump there. all: each instruction that
// builds the address does so for such a call, and no other function jumps there.
func (p place) straightCallers(most int) (returns []uint64, jumpers []disasm.Addr, all bool) {
	mentions, all := discover.MentionsOf(p.Entries, p.at, most)
	for _, in := range mentions {
		if in.Jumps > 0 {
			jumpers = append(jumpers, in.Function)
		}
		returns = append(returns, in.Returns...)
		if in.N > 0 {
			calls := p.callsOf(p.Flows.Function(in.Function))
			all = all && len(calls) >= in.N
			returns = append(returns, calls...)
		}
	}
	return returns, jumpers, all
}

// calledOtherwise tells whether anything but this image's code may lead to a function: a pointer in data, be
// it only in the table of what other modules may call.
func (p place) calledOtherwise() bool {
	if !p.Entries.HoldsPointers() || p.words().heldInData(p.at) || p.words().inInstruction(p.at) {
		return true
	}
	if sym, ok := p.Img.Symbols.At(p.at.PC); ok {
		if _, exported := p.Img.Symbols.Named("__ksymtab_" + sym.Name); exported { // holds distances on arm64 and x86
			return true
		}
	}
	return false
}

// callsOf are where the calls of f through registers to the function return to.
func (p place) callsOf(f *dataflow.Function) (returns []uint64) {
	text, ok := p.Img.Segments.At(f.Entry.PC)
	if !ok {
		return nil
	}
	step := max(p.Arch.InsnAlignIn(p.at.Mode), 1)
	size := min(f.ContiguousEnd()-f.Entry.PC, maxCallerSize)
	for off := step; off <= size && len(returns) <= maxCallers; off += step {
		at := f.Entry.PC + off
		call, is := callsite.InSegment(p.m, text, at, p.at.Mode)
		if !is || call.Direct {
			continue
		}
		if to, known := f.CallTarget(inImage(p.m, call.Addr)); known && to == p.at {
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

// callsTo lists calls in all modules that may lead to one of the entries, in m.
type callsTo struct {
	capture
	m       *target.Module
	entries []disasm.Addr
	list    []uint64
}

// run makes the list, and returns the number of the system call that the function serves, −1 for none.
func (c *callsTo) run(p *program) (system int) {
	system = -1
	for i := 0; i < len(c.entries); i++ {
		for _, x := range c.searched() {
			c.built(x, c.entries[i])
		}
		c.tables(p, c.entries[i])
		if n := c.serves(p, c.entries[i]); n >= 0 && (system < 0 || n < system) {
			system = n
		}
	}
	slices.Sort(c.list)
	return system
}

// built adds the calls in a module whose target instructions or constants tell, and the functions of the entry's own
// module that end in a jump there to the entries. Modules of Linux for MIPS build the addresses of the kernel's functions
// (-mlong-calls).
func (c *callsTo) built(x place, entry disasm.Addr) {
	x.at = disasm.Addr{PC: inImage(x.m, c.m.ToTarget(entry.PC)), Mode: entry.Mode}
	returns, jumpers, _ := x.straightCallers(maxCallsTo)
	for _, ra := range returns {
		c.add(x.m, ra)
	}
	for _, f := range jumpers {
		if x.m == c.m && len(c.entries) < maxJumpsTo && !slices.Contains(c.entries, f) {
			c.entries = append(c.entries, f)
		}
	}
}

// tables adds the calls that read the function from tables.
func (c *callsTo) tables(p *program, entry disasm.Addr) {
	for i, h := range having(callIndexOf(p).held, entry.Key()) {
		if i >= maxTableOf {
			break
		}
		if p.words().isTraced(h.value) || p.words().isWithin(".dynsym", h.value) {
			continue
		}
		if table, builders, ok := p.tableOf(h.value); ok {
			c.through(table, h.value-table, builders)
		}
	}
}

// through adds the calls that read the function at a slot of a table. They read the table's address from a field of an
// object. The fields in which code stores the address come first; if no call reads those, the fields to which code copies
// the address.
func (c *callsTo) through(table, slot uint64, builders []discover.Mention) {
	fields, before := slices.Collect(maps.Keys(fieldsOf(c.capture, c.m, table, builders))), len(c.list)
	modules := c.searched()
	for _, x := range modules {
		for _, field := range fields {
			c.addPath(x, tablePath{field, slot})
		}
	}
	if len(c.list) > before {
		return
	}
	for _, x := range modules {
		for _, field := range fields {
			for _, copied := range having(callIndexOf(x.program).copies, field) {
				c.addPath(x, tablePath{copied.value, slot})
			}
		}
	}
}

// searched is the code of the modules in which calls are looked for.
func (c *callsTo) searched() (list []place) {
	for i, m := range c.snap.Modules {
		if i < maxSearched && m.Image != nil && m.Image.Arch == c.m.Image.Arch {
			list = append(list, place{program: c.of(m.Image), m: m})
		}
	}
	return list
}

// addPath adds the calls of one path in a module.
func (c *callsTo) addPath(x place, path tablePath) {
	if sites := callIndexOf(x.program).paths[path]; len(sites) <= maxOnePath {
		for _, at := range sites {
			if ra, ok := x.ReturnAddress(at); ok {
				c.add(x.m, ra)
			}
		}
	}
}

// add adds the call that returns to an image address in a module.
func (c *callsTo) add(m *target.Module, at uint64) {
	if ra := m.ToTarget(at); len(c.list) < maxCallsTo && !slices.Contains(c.list, ra) {
		c.list = append(c.list, ra)
	}
}

// serves is the number at which the table of system calls has the function, the lowest where there are several; −1 where
// the table has no such function. Example: sys_write of Linux is there, and jumps to ksys_write.
func (c *callsTo) serves(p *program, entry disasm.Addr) (number int) {
	number = -1
	for _, h := range having(callIndexOf(p).held, entry.Key()) {
		if n, ok := inLongList(p.Img, h.value); ok && !p.words().isTraced(h.value) && (number < 0 || n < number) {
			number = n
		}
	}
	return number
}
