// Package orctable writes the rules of an image as the Linux kernel for x86-64 has them, ORC: entries
// of 6 bytes, and where each begins to hold.
//
//	.orc_unwind_ip   4 bytes each: an address, relative to where it stands
//	.orc_unwind      6 bytes each: the base of the CFA and an offset, the same of RBP, the type
//
// The types are those of Linux 6.4 and later. An entry holds up to the next one; what is not known
// has an entry of its own that says so. Specifications: Documentation/arch/x86/orc-unwinder.rst,
// arch/x86/include/asm/orc_types.h.
package orctable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/tables/debugfile"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// Format is the form of ORC.
func Format() tables.Format {
	return tables.Format{Name: "orc", Short: "the Linux kernel's ORC sections for x86-64, in an ELF file", Write: write}
}

// Numbers of orc_types.h.
const (
	regUndefined  = 0
	regPrevSP     = 1
	regBP         = 4
	regSP         = 5
	regBPIndirect = 8

	typeUndefined = 0
	typeEnd       = 1
	typeCall      = 2
)

const (
	entrySize = 6
	wordSize  = 8
)

// writer gathers the two sections.
type writer struct {
	arch    *cpu.Arch
	starts  []uint64
	entries []byte
	refused []tables.Refusal
	said    int
}

func write(out io.Writer, p *tables.Program) ([]tables.Refusal, error) {
	w := writer{arch: p.Image.Arch}
	if w.arch.Name != "x86_64" {
		return nil, fmt.Errorf("ORC is for x86_64, not for %s", w.arch.Name)
	}
	end := uint64(0)
	for i := range p.Functions {
		f := &p.Functions[i]
		if end != 0 && end < f.Start {
			w.add(end, [entrySize]byte{})
		}
		w.function(p, f)
		end = f.End
	}
	w.add(end, [entrySize]byte{})
	if w.said == 0 {
		return w.refused, errors.New("no rule can be said in ORC")
	}
	ips, err := w.addresses(debugfile.Behind(p.Image))
	if err != nil {
		return w.refused, err
	}
	return w.refused, debugfile.Write(out, p,
		debugfile.Section{Name: ".orc_unwind_ip", Data: ips, Align: 4, Addr: debugfile.Behind(p.Image)},
		debugfile.Section{Name: ".orc_unwind", Data: w.entries, Align: 2})
}

// addresses are the contents of .orc_unwind_ip at an address.
func (w *writer) addresses(at uint64) (b []byte, err error) {
	for i, start := range w.starts {
		d := int64(start - at - 4*uint64(i))
		if d != int64(int32(d)) {
			return nil, fmt.Errorf("more than 2 GB lie between %#x and the table", start)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(d))
	}
	return b, nil
}

// add adds an entry, unless it says what the one before does.
func (w *writer) add(start uint64, e [entrySize]byte) {
	if n := len(w.entries); n > 0 && string(w.entries[n-entrySize:]) == string(e[:]) {
		return
	}
	w.starts = append(w.starts, start)
	w.entries = append(w.entries, e[:]...)
}

func (w *writer) function(p *tables.Program, f *tables.Function) {
	for i, row := range f.Rows {
		var e [entrySize]byte
		if row.Rule != tables.None {
			why := ""
			if e, why = w.entry(&p.Rules[row.Rule]); why != "" {
				w.refused = append(w.refused, tables.Refusal{Function: f.Symbol(), Addr: row.Addr, Size: f.RowEnd(i) - row.Addr, Reason: why})
			} else {
				w.said++
			}
		}
		w.add(row.Addr, e)
	}
}

// entry is the ORC entry for a rule: how to find RSP, RBP and the return address. ORC follows no other
// registers. why tells what an entry cannot say of the rule, "" where e has it all.
func (w *writer) entry(r *tables.Rule) (e [entrySize]byte, why string) {
	if r.RA.Kind == rule.Undefined {
		e[5] = typeEnd
		return e, ""
	}
	var base byte
	switch c := &r.CFA; {
	case c.Kind == rule.RegPlus && c.Base == w.arch.SP:
		base = regSP
	case c.Kind == rule.RegPlus && c.Base == w.arch.FP:
		base = regBP
	case c.Kind == rule.AtReg && c.Base == w.arch.FP && c.Add == 0:
		base = regBPIndirect
	default:
		return e, "the CFA is " + c.Format(w.arch)
	}
	if r.RA.Kind != rule.AtCFA || r.RA.Off != -wordSize || r.Flags&rule.SignalFrame != 0 {
		return e, "the return address is " + r.RA.Format(w.arch)
	}
	if r.CFA.Off > math.MaxInt16 || r.CFA.Off < math.MinInt16 {
		return e, fmt.Sprintf("the CFA is %d bytes from its register", r.CFA.Off)
	}
	bp := r.Of(w.arch.FP)
	switch bp.Kind {
	case rule.Unspecified, rule.SameValue:
	case rule.AtCFA:
		if bp.Off < math.MinInt16 || bp.Off > math.MaxInt16 {
			return e, fmt.Sprintf("rbp is %d bytes from the CFA", bp.Off)
		}
		base |= regPrevSP << 4
		binary.LittleEndian.PutUint16(e[2:], uint16(bp.Off))
	default:
		return e, "rbp is " + bp.Format(w.arch)
	}
	binary.LittleEndian.PutUint16(e[:], uint16(r.CFA.Off))
	e[4], e[5] = base, typeCall
	return e, ""
}
