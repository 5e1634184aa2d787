package kernellog

import "github.com/backsight/backsight/target"

// evidence is what a chain is repaired with: the report, the binaries, and what later reports show of the same stack.
type evidence struct {
	*record
	binaries  *binaries
	later     []target.Listed
	calls     calls
	spellings spellings
	// pc is where the chain is to begin: nil where nobody knows, or where the chain says so better.
	pc *register
	// caller is where in the chain the PC's caller stands.
	caller int
}

func (e *evidence) has(t traits) bool { return e.binaries.machine.has(t) }
