// Package locals reads the arguments and local variables of a frame out of DWARF: where the
// compiler kept each at this place of the code, what is there, and what that means by the
// variable's type. What a compiler kept nowhere, or in a register that has been overwritten
// since, is said to be missing and never guessed.
//
//	subprogram ─► variables in scope ─► location at the PC ─► bytes ─┐
//	                    └─► type ───────────────────────────────────┴► words
//
// What a function was called with may be known though its own code has it no more: from the call,
// in the caller's frame (entered.go).
//
// Specification: DWARF 5, §2.6 (locations), §3.3.8 and §4.1 (entries), §3.4 (call sites), chapter 5
// (types).
package locals

import (
	"debug/dwarf"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/die"
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

// Place is a frame whose variables are read.
type Place struct {
	Snapshot *target.Snapshot
	Frame    *report.Frame
	// Registers are the frame's.
	Registers *cpu.Registers
	// PC is an image address within the frame's place.
	PC uint64
	// Entered is what is known of the registers when the function was entered.
	Entered Entered
}

// Of reads the variables of a frame; nil where the debug information tells of none.
func Of(names *symbol.Symbolizer, p *Place) (out []report.Variable) {
	if p.Frame.Module == nil {
		return nil
	}
	names.Scope(p.Frame.Module, p.PC, func(sc symbol.Scope) { out = newReader(sc, p).read() })
	slices.SortStableFunc(out, func(a, b report.Variable) int { return order(&a) - order(&b) })
	return out
}

// order puts the function's arguments first, then its locals, then those of inlined functions.
func order(v *report.Variable) int {
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
	function dwarf.Offset
	entries  *entries
	storage  *storage
	words    *writer
	out      []report.Variable
}

func newReader(sc symbol.Scope, p *Place) *reader {
	e := &entries{Info: sc.Info, left: maxEntries}
	arch := p.Frame.Module.Image.Arch
	r := &reader{
		function: sc.Function, entries: e, storage: newStorage(sc, p),
		words: &writer{types: types{entries: e, addrSize: arch.AddrSize}, memory: p.Snapshot.Memory, big: arch.BigEndian},
	}
	if p.Entered != nil {
		r.storage.frame.Entered = p.Entered.of(sc)
	}
	return r
}

// read goes through the function's entry: its variables, and those of the blocks and the
// inlined functions around the PC.
func (r *reader) read() []report.Variable {
	d := r.entries.Data.Reader()
	d.Seek(r.function)
	if f := r.entries.next(d); f != nil && f.Children {
		r.storage.setBase(f)
		r.block(d, "", maxBlocks)
	}
	return r.out
}

// block reads the children of an entry up to the null entry behind them. inlined is the
// inlined function that they belong to.
func (r *reader) block(d *dwarf.Reader, inlined string, depth int) {
	for e := r.entries.next(d); e != nil && e.Tag != 0; e = r.entries.next(d) {
		switch e.Tag {
		case dwarf.TagFormalParameter, dwarf.TagVariable:
			if len(r.out) < maxVariables {
				r.variable(die.Entry{Entry: e}, inlined)
			}
		case dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			if !e.Children || depth == 0 || !r.covers(e) {
				break
			}
			within := inlined
			if e.Tag == dwarf.TagInlinedSubroutine {
				within = r.entries.name(die.Entry{Entry: e})
			}
			r.block(d, within, depth-1)
			continue
		}
		r.entries.skip(d, e)
	}
}

func (r *reader) covers(e *dwarf.Entry) bool {
	ranges, err := r.entries.Data.Ranges(e)
	pc := r.storage.pc
	return err == nil && slices.ContainsFunc(ranges, func(x [2]uint64) bool { return x[0] <= pc && pc < x[1] })
}

// variable reads one variable. A declaration of what is elsewhere is none.
func (r *reader) variable(e die.Entry, inlined string) {
	name := r.entries.name(e)
	if external, _ := e.Val(dwarf.AttrDeclaration).(bool); external || name == "" {
		return
	}
	v := report.Variable{Name: name, Argument: e.Tag == dwarf.TagFormalParameter, Inlined: inlined}
	at, ok := r.entries.typeOf(e)
	if !ok {
		return
	}
	t := r.words.types.at(at)
	v.Type = t.name
	v.Value, v.Missing = r.value(e, &t)
	r.out = append(r.out, v)
}

// value is a variable's value in words, or why there is none.
func (r *reader) value(e die.Entry, t *typ) (words, missing string) {
	data, to, missing := r.content(e, t)
	switch {
	case missing != "":
		return "", missing
	case to != nil:
		return r.pointed(to, t)
	}
	return r.words.of(data, t, true), ""
}

// content is the bytes of a variable, or what it points to where that is kept nowhere in memory.
func (r *reader) content(e die.Entry, t *typ) (data []byte, to *pointee, missing string) {
	if v, ok := r.entries.origin(e, dwarf.AttrConstValue); ok {
		data, missing = r.words.constant(v.Entry.Val(dwarf.AttrConstValue), t)
		return data, nil, missing
	}
	at, _ := r.entries.origin(e, dwarf.AttrLocation)
	if at.Entry == nil {
		return nil, nil, optimisedOut
	}
	pieces, missing := r.storage.pieces(at.Val(dwarf.AttrLocation))
	switch {
	case missing != "":
		return nil, nil, missing
	case t.kind == opaque || t.size == 0:
		return nil, nil, noType
	}
	if to, ok := pointeeOf(pieces); ok && t.kind == pointer {
		return nil, &to, ""
	}
	data, missing = r.storage.bytes(pieces, t.size)
	return data, nil, missing
}

// pointed says what a pointer to a variable that is kept nowhere in memory points to.
func (r *reader) pointed(to *pointee, t *typ) (words, missing string) {
	e, ok := r.entries.at(die.Ref{Offset: to.entry - r.storage.begin})
	if !ok || !t.known {
		return "", optimisedOut
	}
	at, ok := r.entries.typeOf(e)
	if !ok {
		return "", optimisedOut
	}
	whole, elem := r.words.types.at(at), r.words.types.at(t.elem)
	data, _, missing := r.content(e, &whole)
	if missing != "" {
		return "", missing
	}
	if to.into < 0 || to.into > int64(len(data)) || elem.size == 0 || elem.size > len(data)-int(to.into) {
		return "", optimisedOut
	}
	return "→ " + r.words.of(data[to.into:][:elem.size], &elem, true), ""
}
