// Package sframe writes the rules of an image in the SFrame format, version 2, for AArch64 and x86-64:
// where the CFA, the return address and the frame pointer are, in an ELF file's section .sframe.
//
//	header ─► FDEs, sorted: a function's start and size, its first FRE, how many there are
//	       └► FREs: from where on, base register, one to three offsets of 1, 2 or 4 bytes
//
// Specification: GNU binutils, "The SFrame format", and include/sframe.h.
package sframe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/tables/debugfile"
	"github.com/backsight/backsight/tables"
)

// Format is the form of SFrame.
func Format() tables.Format {
	return tables.Format{Name: "sframe", Short: "an ELF file with .sframe, version 2, for AArch64 and x86-64",
		Write: func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) { return write(w, p, 2) }}
}

// Numbers of include/sframe.h.
const (
	magic      = 0xdee2
	flagSorted = 1
	headerSize = 28

	abiAArch64Big    = 1
	abiAArch64Little = 2
	abiAMD64         = 3

	baseSP      = 1
	mangledRA   = 0x80
	offsetsTwo  = 1 << 5 // offsets of two bytes, of four
	offsetsFour = 2 << 5
)

// encoder gathers the parts of the section.
type encoder struct {
	p       *tables.Program
	arch    *cpu.Arch
	order   binary.AppendByteOrder
	version byte
	abi     byte
	fixedRA int64  // the return address's place from the CFA, 0 where it varies
	addr    uint64 // of the section
	fdes    []byte
	fres    []byte
	n, rows int // of FDEs and FREs
	refused []tables.Refusal
}

func newEncoder(p *tables.Program, version byte) (*encoder, error) {
	a := p.Image.Arch
	e := &encoder{p: p, arch: a, order: binary.LittleEndian, version: version, addr: debugfile.Behind(p.Image)}
	switch {
	case a.Name == "x86_64":
		e.abi, e.fixedRA = abiAMD64, -8
	case a.Name == "aarch64" && a.BigEndian:
		e.abi, e.order = abiAArch64Big, binary.BigEndian
	case a.Name == "aarch64":
		e.abi = abiAArch64Little
	default:
		return nil, fmt.Errorf("SFrame is for aarch64 and x86_64, not for %s", a.Name)
	}
	return e, nil
}

func write(w io.Writer, p *tables.Program, version byte) ([]tables.Refusal, error) {
	e, err := newEncoder(p, version)
	if err != nil {
		return nil, err
	}
	for i := range p.Functions {
		e.function(&p.Functions[i])
	}
	if e.n == 0 {
		return e.refused, errors.New("no rule can be said in SFrame")
	}
	return e.refused, debugfile.Write(w, p, debugfile.Section{Name: ".sframe", Data: e.section(), Align: 8, Addr: e.addr})
}

// section puts the parts together.
func (e *encoder) section() []byte {
	b := e.order.AppendUint16(nil, magic)
	b = append(b, e.version, flagSorted, e.abi, 0, byte(e.fixedRA), 0)
	for _, v := range []int{e.n, e.rows, len(e.fres), 0, len(e.fdes)} {
		b = e.order.AppendUint32(b, uint32(v))
	}
	return append(append(b, e.fdes...), e.fres...)
}

// function writes an FDE for each stretch of rows that can be said: a function's FREs hold up to one
// another, and leave no gaps.
func (e *encoder) function(f *tables.Function) {
	for from := 0; from < len(f.Rows); {
		var list []frameRow
		to := from
		for ; to < len(f.Rows); to++ {
			r, ok := e.row(f, to)
			if !ok {
				break
			}
			if n := len(list); n == 0 || !list[n-1].says(&r) {
				list = append(list, r)
			}
		}
		if to > from {
			e.fde(f.Rows[from].Addr, f.RowEnd(to-1), list)
		}
		from = max(to, from+1)
	}
}

// row is what the form says of a row of a function; false where it says nothing, or cannot.
func (e *encoder) row(f *tables.Function, i int) (r frameRow, ok bool) {
	if f.Rows[i].Rule == tables.None {
		return r, false
	}
	r, why := e.convert(&e.p.Rules[f.Rows[i].Rule])
	r.addr = f.Rows[i].Addr
	if d := int64(r.addr - e.addr); why == "" && d != int64(int32(d)) {
		why = "more than 2 GB lie between the code and the table"
	}
	if why != "" {
		e.refused = append(e.refused, tables.Refusal{Function: f.Symbol(), Addr: r.addr, Size: f.RowEnd(i) - r.addr, Reason: why})
	}
	return r, why == ""
}

// fde writes a function's descriptor and its rows. A row's start takes 1, 2 or 4 bytes, as the
// function's size needs.
func (e *encoder) fde(lo, hi uint64, list []frameRow) {
	kind := byte(0)
	switch size := hi - lo; {
	case size > math.MaxUint16:
		kind = 2
	case size > math.MaxUint8:
		kind = 1
	}
	e.fdes = e.order.AppendUint32(e.fdes, uint32(lo-e.addr))
	e.fdes = e.order.AppendUint32(e.fdes, uint32(hi-lo))
	e.fdes = e.order.AppendUint32(e.fdes, uint32(len(e.fres)))
	e.fdes = e.order.AppendUint32(e.fdes, uint32(len(list)))
	e.fdes = append(e.fdes, kind)
	if e.version >= 2 {
		e.fdes = append(e.fdes, 0, 0, 0) // the size of a repeated block, padding
	}
	for i := range list {
		e.fre(list[i].addr-lo, kind, &list[i])
	}
	e.n++
	e.rows += len(list)
}

// fre writes a row.
func (e *encoder) fre(at uint64, kind byte, r *frameRow) {
	e.number(1<<min(kind, 2), at)
	info := r.info | byte(len(r.offsets))<<1
	width := width(r.offsets)
	switch width {
	case 2:
		info |= offsetsTwo
	case 4:
		info |= offsetsFour
	}
	e.fres = append(e.fres, info)
	for _, off := range r.offsets {
		e.number(width, uint64(off))
	}
}

// number writes a number in 1, 2 or 4 bytes.
func (e *encoder) number(width int, v uint64) {
	switch width {
	case 1:
		e.fres = append(e.fres, byte(v))
	case 2:
		e.fres = e.order.AppendUint16(e.fres, uint16(v))
	default:
		e.fres = e.order.AppendUint32(e.fres, uint32(v))
	}
}

// width is how many bytes the largest offset needs.
func width(offsets []int64) (n int) {
	n = 1
	for _, off := range offsets {
		switch {
		case off != int64(int16(off)):
			return 4
		case off != int64(int8(off)):
			n = 2
		}
	}
	return n
}
