package tables

import (
	"fmt"
	"io"
)

// Format is a form of tables that other programs read.
type Format struct {
	// Name is what --format calls it, Short says who reads it.
	Name, Short string
	// Text: a person can read it.
	Text bool
	// FileName is where the form's readers look for the table of a program, a path below a
	// directory of the user's; nil: they are told.
	FileName func(p *Program) string
	// Write writes the table of a program. What the form cannot say is left out of it, so
	// that its reader finds nothing there, and is returned. Where too little remains to be of
	// use, or nothing can be left out, there is an error.
	Write func(w io.Writer, p *Program) ([]Refusal, error)
}

// Refusal is a stretch of code whose rule a form cannot say.
type Refusal struct {
	// Function is the function's name, as Symbol gives it; Addr the first instruction, Size the
	// bytes of code from there.
	Function   string
	Addr, Size uint64
	Reason     string // "the CFA is in memory"
}

func (r Refusal) String() string {
	return fmt.Sprintf("%s: no row at %#x, for %d bytes: %s", r.Function, r.Addr, r.Size, r.Reason)
}

// Symbol is the name of the function's symbol or, without one, fn_ and the address in hexadecimal.
func (f *Function) Symbol() string {
	if f.Name != "" {
		return f.Name
	}
	return fmt.Sprintf("fn_%x", f.Start)
}
