package heights

import (
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/memo"
)

// maxTables bounds a generation of kept tables, of some kilobytes each; two generations are kept.
const maxTables = 1024

// Tables makes and keeps the tables of one image's functions. The Tables that New returns serve
// all goroutines; those of Fork belong to one goroutine.
type Tables struct {
	code    disasm.Code
	entries *discover.Entries
	effects *callee.Effects
	memo    memo.Table[uint64, *Table] // by key; nil: the function has no table
	passes  sync.Pool                  // of *pass, whose memory is used again
	nesting *nesting                   // nil: callees are not analysed first
}

// New returns the tables of an image whose functions begin at entries.
func New(c disasm.Code, entries *discover.Entries) *Tables {
	t := &Tables{code: c, entries: entries}
	t.memo.Bound = maxTables
	t.effects = callee.New(c, t.hasReturn)
	return t
}

// Effects tells what the functions of the image do to their callers. Returns that the
// tables have found already spare the effects a search.
func (t *Tables) Effects() *callee.Effects { return t.effects }

// Fork returns tables with a memory of their own, for one goroutine that makes the
// tables of many functions. Before a caller's table is made, that of a callee is, where
// soon reports true: such a table will be asked for soon, and tells what a call of the
// function does. A function whose table is being made has none for its callees.
func (t *Tables) Fork(soon func(entry uint64) bool) *Tables {
	f := &Tables{code: t.code, entries: t.entries, nesting: &nesting{soon: soon}}
	f.memo.Bound = maxTables
	f.effects = t.effects.Fork(f.hasReturn)
	return f
}

// Clear forgets the tables.
func (t *Tables) Clear() { t.memo.Clear() }

// Of returns the table of the function at an entry, nil if there is none.
func (t *Tables) Of(entry disasm.Addr) *Table {
	k := entry.Key()
	if table, ok := t.memo.Find(k); ok {
		return table
	}
	if t.nesting != nil {
		if !t.nesting.enter(k) {
			return nil
		}
		defer t.nesting.leave()
	}
	p, ok := t.passes.Get().(*pass)
	if !ok {
		p = newPass(t)
	}
	table := p.analyze(entry)
	t.passes.Put(p)
	t.memo.Keep(k, table)
	return table
}

// In returns the table of the function at an entry, and the frame that the table has at an image
// address. The table is nil where the function has no table, the frame where the table does not
// have the address.
func (t *Tables) In(entry disasm.Addr, pc uint64) (*Table, *SavedRegs) {
	table := t.Of(entry)
	if table == nil {
		return nil, nil
	}
	return table, table.At(pc)
}

// Proven returns the table of the nearest function that has a place, and the frame there; nil where
// no table has the place. Certain entries are asked first, then entries that data points to.
func (t *Tables) Proven(at disasm.Addr) (*Table, *SavedRegs) {
	for _, list := range []func(disasm.Addr) []uint64{t.entries.Below, t.entries.CalledBelow} {
		for _, e := range list(at) {
			if table, f := t.In(disasm.Addr{PC: e, Mode: at.Mode}, at.PC); f != nil {
				return table, f
			}
		}
	}
	for _, e := range t.entries.PointedBelow(at) {
		entry := disasm.Addr{PC: e, Mode: at.Mode}
		if table, f := t.In(entry, at.PC); f != nil && t.Begins(entry) {
			return table, f
		}
	}
	return nil, nil
}

// Begins tells whether a place that a word of data names begins a function, going by its
// table. Where instructions have any length the word can be no pointer at all, and
// the code from there another code than the one that runs: on x86 c3, a return, stands
// inside of many longer instructions. A return without a frame proves nothing then,
// unless the place is aligned as compilers align functions.
func (t *Tables) Begins(entry disasm.Addr) bool {
	if t.code.Arch.InsnAlign > 1 || entry.PC%16 == 0 {
		return true
	}
	table := t.Of(entry)
	return table != nil && table.MakesFrame
}

// ReturnsFrom tells whether the code at a place returns to its caller with everything as
// it was there, on all paths: inside of a function that has a frame such code is the
// next function. libLLVM's switches of which no pointer is read stand in front of
// functions that nobody calls by address. A jump elsewhere for which no frame was undone
// is no return.
func (t *Tables) ReturnsFrom(at disasm.Addr) bool {
	table := t.Of(at)
	return table != nil && len(table.Code) > 0 && table.Code[0].Start == 0 && (table.MakesFrame || table.Effect.Returns)
}

// hasReturn is the effect of a function whose table is known already and has a return;
// nothing is analysed.
func (t *Tables) hasReturn(at disasm.Addr) (callee.Effect, bool) {
	table, _ := t.memo.Find(at.Key())
	if table == nil || !table.Effect.Returns {
		return callee.Effect{}, false
	}
	return table.Effect, true
}

// callEffect is what a call does to its caller. A call whose target is not known returns.
func (t *Tables) callEffect(call *cpu.Insn, site callee.Site) callee.Effect {
	if disasm.IndirectCall(call) {
		return t.effects.At(site, disasm.Addr{}, false)
	}
	to := disasm.Target(call)
	if _, known := t.effects.Find(to); !known && t.nesting != nil && t.nesting.wants(to.PC) && t.entries.IsEntry(to) {
		t.Of(to) // tells whether the function returns
	}
	return t.effects.At(site, to, true)
}

// maxNesting bounds the tables that are being made at a time.
const maxNesting = 8

// nesting lists the functions that are being analysed at a time: a caller, a callee of the caller, …
type nesting struct {
	soon   func(entry uint64) bool
	active []uint64 // keys
}

// wants tells whether the table of a callee shall be made before that of the caller.
func (n *nesting) wants(entry uint64) bool { return len(n.active) < maxNesting && n.soon(entry) }

// enter begins with a function; false for one that is being analysed.
func (n *nesting) enter(key uint64) bool {
	if slices.Contains(n.active, key) {
		return false
	}
	n.active = append(n.active, key)
	return true
}

func (n *nesting) leave() { n.active = n.active[:len(n.active)-1] }
