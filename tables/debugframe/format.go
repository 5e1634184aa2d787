// Package debugframe writes the rules of an image as DWARF call frame information, in a
// separate debug file as debuggers look for it: ELF with .debug_frame or .eh_frame, and a
// symbol table with where functions begin.
//
//	tables.Program ─► stretches of known rows ─► FDE: the changes from row to row ─► section ─┐
//	               └► symbols fn_ADDR ────────────────────────────────────────────────────────┴► ELF
//
// GDB and LLDB, elfutils, perf and libunwind find it by the build ID, as
// .build-id/xx/yyyy.debug, or are given it by name. Specifications: DWARF 5 §6.4; Linux Standard
// Base Core, "Exception Frames"; gABI chapter 4; AADWARF64 for signed return addresses.
package debugframe

import (
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"

	"github.com/backsight/backsight/tables"
)

// DebugFrame is the form of .debug_frame, which no program loads.
func DebugFrame() tables.Format {
	return tables.Format{Name: "debug_frame", Short: "a debug file with .debug_frame, for gdb, lldb, elfutils, perf, libunwind",
		FileName: fileName, Write: func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) { return write(w, p, false) }}
}

// EHFrame is the form of .eh_frame.
func EHFrame() tables.Format {
	return tables.Format{Name: "eh_frame", Short: "the same with .eh_frame",
		FileName: fileName, Write: func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) { return write(w, p, true) }}
}

// fileName is where debuggers look for the debug file of a build ID below their directory.
// Without one, it is what a .gnu_debuglink usually names.
func fileName(p *tables.Program) string {
	id := hex.EncodeToString(p.Image.BuildID)
	if len(id) > 2 {
		return filepath.Join(".build-id", id[:2], id[2:]+".debug")
	}
	return filepath.Base(p.Image.Path) + ".debug"
}

func write(w io.Writer, p *tables.Program, eh bool) ([]tables.Refusal, error) {
	e := newEncoder(p, eh)
	e.functions()
	if e.entries == 0 {
		return e.refused, errors.New("no rule can be said in DWARF's call frame information")
	}
	f := newFile(p)
	f.frames(e)
	f.symbols(p)
	_, err := w.Write(f.bytes())
	return e.refused, err
}
