// Package debugframe writes the rules of an image as DWARF call frame information, in a
// separate debug file as debuggers look for it: ELF with .debug_frame or .eh_frame, and a
// symbol table with where functions begin.
//
//	tables.Program ─► stretches of known rows ─► FDE: the changes from row to row ─► section ─┐
//	               └► symbols fn_ADDR ────────────────────────────────────────────────────────┴► ELF
//
// Debuggers find it by the build ID, as
// .build-id/xx/yyyy.debug, or are given it by name. Specifications: DWARF 5 §6.4; Linux Standard
// Base Core, "Exception Frames"; gABI chapter 4; AADWARF64 for signed return addresses.
package debugframe

import (
	"errors"
	"io"

	"github.com/backsight/backsight/internal/tables/debugfile"
	"github.com/backsight/backsight/tables"
)

// DebugFrame is the form of .debug_frame, which no program loads.
func DebugFrame() tables.Format {
	return tables.Format{Name: "debug_frame", Short: "a debug file with .debug_frame, for gdb and what else reads DWARF",
		FileName: debugfile.Path, Write: func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) { return write(w, p, false) }}
}

// EHFrame is the form of .eh_frame.
func EHFrame() tables.Format {
	return tables.Format{Name: "eh_frame", Short: "the same with .eh_frame",
		FileName: debugfile.Path, Write: func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) { return write(w, p, true) }}
}

func write(w io.Writer, p *tables.Program, eh bool) ([]tables.Refusal, error) {
	e := newEncoder(p, eh)
	e.functions()
	if e.entries == 0 {
		return e.refused, errors.New("no rule can be said in DWARF's call frame information")
	}
	frames := debugfile.Section{Name: ".debug_frame", Data: e.out, Align: uint64(p.Image.Arch.AddrSize)}
	if eh {
		frames.Name, frames.Addr = ".eh_frame", e.addr
	}
	return e.refused, debugfile.Write(w, p, frames)
}
