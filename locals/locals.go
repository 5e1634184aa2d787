// Package locals reads the arguments and local variables of a frame out of DWARF: where the
// compiler kept each at this place of the code, what is there, and what that means by the
// variable's type. What a compiler kept nowhere, or in a register that has been overwritten
// since, is said to be missing and never guessed.
//
//	subprogram ─► variables in scope ─► location at the PC ─► bytes ─┐
//	                    └─► type ───────────────────────────────────┴► words
//
// Specification: DWARF 5, §2.6 (locations), §3.3.8 and §4.1 (entries), chapter 5 (types).
package locals

import (
	"debug/dwarf"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// Bounds of what is read for one frame. Functions of a few thousand entries exist, such as
// interpreters' loops; nobody reads more than some dozen variables.
const (
	maxEntries   = 20_000
	maxVariables = 100
	maxBlocks    = 32 // within one another
)

// Of reads the variables of a frame. regs are the frame's registers, PC is an image address
// within the frame's place; nil where the debug information tells of none.
func Of(names *symbol.Symbolizer, snap *target.Snapshot, f *report.Frame, regs *cpu.Registers, pc uint64) (out []report.Variable) {
	if f.Module == nil {
		return nil
	}
	names.Scope(f.Module, pc, func(sc symbol.Scope) {
		r := newReader(sc, snap, f, regs, pc)
		r.function()
		out = r.out
	})
	slices.SortStableFunc(out, func(a, b report.Variable) int { return place(&a) - place(&b) })
	return out
}

// place orders variables: the function's arguments, its locals, then those of inlined ones.
func place(v *report.Variable) int {
	switch {
	case v.Inlined != "":
		return 2
	case v.Argument:
		return 0
	}
	return 1
}

// reader reads the variables of one frame.
type reader struct {
	symbol.Scope
	entries *dwarf.Reader
	snap    *target.Snapshot
	frame   evaluate.Frame
	pc      uint64
	lists   lists
	left    int // entries to read
	out     []report.Variable
}

func newReader(sc symbol.Scope, snap *target.Snapshot, f *report.Frame, regs *cpu.Registers, pc uint64) *reader {
	r := &reader{Scope: sc, entries: sc.Data.Reader(), snap: snap, pc: pc, left: maxEntries}
	arch := f.Module.Image.Arch
	r.lists = newLists(sc, arch)
	r.frame = evaluate.Frame{Arch: arch, Regs: regs, Memory: snap.Memory, CFA: f.CFA, HasCFA: f.HasCFA, Bias: f.Module.Bias, Address: r.lists.address}
	return r
}

// next reads an entry, nil at the end of what there is, or of what may be read.
func (r *reader) next() *dwarf.Entry {
	e, err := r.entries.Next()
	if r.left--; err != nil || r.left < 0 {
		return nil
	}
	return e
}

// at reads the entry at an offset.
func (r *reader) at(off dwarf.Offset) *dwarf.Entry {
	if r.left--; r.left < 0 {
		return nil
	}
	d := r.Data.Reader()
	d.Seek(off)
	e, err := d.Next()
	if err != nil {
		return nil
	}
	return e
}

// function goes through the function's entry: its variables, and those of the blocks and the
// inlined functions around the PC.
func (r *reader) function() {
	r.entries.Seek(r.Function)
	e := r.next()
	if e == nil || !e.Children {
		return
	}
	r.setBase(e)
	r.block("", maxBlocks)
}

// setBase evaluates DW_AT_frame_base: a register's content, or an address.
func (r *reader) setBase(e *dwarf.Entry) {
	expr, ok := r.location(e.Val(dwarf.AttrFrameBase))
	if !ok {
		return
	}
	pieces, oc := evaluate.Location(expr, &r.frame)
	if oc != evaluate.Applied || len(pieces) != 1 {
		return
	}
	switch p := pieces[0]; p.Kind {
	case evaluate.InMemory:
		r.frame.Base, r.frame.HasBase = p.Addr, true
	case evaluate.InRegister, evaluate.InExpression:
		r.frame.Base, r.frame.HasBase = p.Value, true
	}
}

// block reads the children of an entry up to the null entry behind them. inlined is the
// inlined function that they belong to.
func (r *reader) block(inlined string, depth int) {
	for e := r.next(); e != nil && e.Tag != 0; e = r.next() {
		switch e.Tag {
		case dwarf.TagFormalParameter, dwarf.TagVariable:
			if len(r.out) < maxVariables {
				r.variable(e, inlined)
			}
		case dwarf.TagLexDwarfBlock:
			if e.Children && depth > 0 && r.covers(e) {
				r.block(inlined, depth-1)
				continue
			}
		case dwarf.TagInlinedSubroutine:
			if e.Children && depth > 0 && r.covers(e) {
				r.block(r.nameOf(e), depth-1)
				continue
			}
		}
		r.skip(r.entries, e)
	}
}

// skip reads on behind the children of an entry that d has just read.
func (r *reader) skip(d *dwarf.Reader, e *dwarf.Entry) {
	depth := 0
	if e.Children {
		depth = 1
	}
	for depth > 0 {
		c, err := d.Next()
		r.left--
		switch {
		case err != nil || c == nil || r.left < 0:
			return
		case c.Tag == 0:
			depth--
		case c.Children:
			depth++
		}
	}
}

func (r *reader) covers(e *dwarf.Entry) bool {
	ranges, err := r.Data.Ranges(e)
	return err == nil && slices.ContainsFunc(ranges, func(x [2]uint64) bool { return x[0] <= r.pc && r.pc < x[1] })
}

// maxOrigins bounds the chain from an entry to the one that it is an instance of.
const maxOrigins = 8

// origin is an attribute of an entry, or of what it stems from (DWARF 5 §3.3.8).
func (r *reader) origin(e *dwarf.Entry, a dwarf.Attr) any {
	for range maxOrigins {
		if e == nil {
			return nil
		}
		if v := e.Val(a); v != nil {
			return v
		}
		off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return nil
			}
		}
		e = r.at(off)
	}
	return nil
}

func (r *reader) nameOf(e *dwarf.Entry) string {
	name, _ := r.origin(e, dwarf.AttrName).(string)
	return name
}

// variable reads one variable. A declaration of what is elsewhere is none.
func (r *reader) variable(e *dwarf.Entry, inlined string) {
	name := r.nameOf(e)
	if external, _ := e.Val(dwarf.AttrDeclaration).(bool); external || name == "" {
		return
	}
	v := report.Variable{Name: name, Argument: e.Tag == dwarf.TagFormalParameter, Inlined: inlined}
	off, ok := r.origin(e, dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return
	}
	t := r.typeAt(off)
	v.Type = t.name
	v.Value, v.Missing = r.value(e, &t)
	r.out = append(r.out, v)
}
