package report

// Signature names a crash, or where a thread stands, so that equal ones have equal names. docs/signatures.md says how each
// part is computed.
type Signature struct {
	// Version is the version of the definition.
	Version int
	// Class is what happened, in words that do not depend on where: "SIGSEGV null-pointer read"; "stopped" for a thread
	// that did not crash.
	Class string
	// Title is a line for people: "SIGSEGV reading NULL+0x40 in pack ← on_route ← word".
	Title string
	// Exact is the same for the same place of the same build, Stable for the same place of another build as well. Both are
	// 16 hexadecimal digits, "" where no frame is sure enough.
	Exact, Stable string
	// Whole tells whether the chain is as deep as the keys ask for, or reaches its root. A chain cut short has the keys of
	// what is left: it is a beginning of another's (Frames).
	Whole bool
	// Frames are those that the keys are made of, innermost first. The run-time's own are left out.
	Frames []SignedFrame
}

// SignedFrame is a function in a Signature.
type SignedFrame struct {
	// Index is the frame's number in its thread.
	Index int
	// Module is the binary's base name and Build its build ID, in hexadecimal digits; Function is "" where it has no name.
	Module, Build, Function string
	// Start is the image address where the function begins; where that is not known, the place itself (Inside).
	Start  uint64
	Inside bool
	// Offset is where in the function the frame stands, in bytes from Start; 0 where Inside.
	Offset uint64
	// Import is the name by which the caller asked the dynamic linker for the function, or for the one that called it, where
	// these are of a run-time library; "" else.
	Import string
	// Print is the function's fingerprint; Named and Members are what that is made of: hashes of what the code refers to, and
	// of places in structures. 0 and nil where the code is not at hand.
	Print          uint32
	Named, Members []uint32
	// Before, of the innermost function of the program, is what that names right in front of the place, as Named.
	Before []uint32
	// Known: nowhere else the same is likely to be named as Before.
	Known bool
	// Sure: the frame is certain.
	Sure bool
}
