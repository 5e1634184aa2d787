package report

import "github.com/backsight/backsight/target"

// Advice is what a capture lacks for whole chains, and how who writes such captures is told.
type Advice struct {
	// Threads counts the threads, Whole those of them whose chain reaches its root without a guess.
	Threads, Whole int
	Lacks          []Lack
	// Settings say how the writer of the capture gives what is lacking, one line each.
	Settings []string
}

// Lack is something that chains end for, or go on by a guess.
type Lack struct {
	Kind LackKind
	// Threads are the IDs of those that lack it.
	Threads []int
	// Range is the memory that is lacking, in target addresses; where Hi is 0, how far that goes the capture does not say.
	Range target.Range
	// Captured is how much of a stack there is from the stack pointer on, in bytes, and Frames how many frames were found
	// there or, of a binary, lie in it.
	Captured uint64
	Frames   int
	// Module is the binary that is lacking, nil where only the address of its code is known (Range).
	Module *target.Module
	// Registers are the names of those that the capture does not have.
	Registers []string
}

// LackKind says what is lacking.
type LackKind string

// The kinds of what is lacking.
const (
	LackStack     LackKind = "stack"      // more of a thread's stack, outwards
	LackMemory    LackKind = "memory"     // memory elsewhere
	LackBinary    LackKind = "binary"     // the file, or its code in memory
	LackDebugFile LackKind = "debug-file" // unwind tables: the code that is there does not tell
	LackRegisters LackKind = "registers"
	LackFrames    LackKind = "frames"  // more frames than were asked for
	LackNothing   LackKind = "nothing" // the stack is damaged, or the walk too long: no larger capture would help
)
