package image

// Table is the range of an unwind table.
type Table struct {
	Kind TableKind
	Range
	// Base is the address that addresses in the table are relative to, where that is none in
	// the table itself.
	Base uint64
}

// TableKind says how to read an unwind table. A container and an unwind source that
// know a further kind need to agree on its name only.
type TableKind string

const (
	// EHFrameHdr is the binary search table of .eh_frame (LSB Core, "The
	// .eh_frame_hdr section").
	EHFrameHdr TableKind = ".eh_frame_hdr"
	// SFrame is the table of the SFrame format (binutils' include/sframe.h).
	SFrame TableKind = ".sframe"
	// ExIdx is the index of ARM's unwind tables (EHABI32, "Index table entries").
	ExIdx TableKind = ".ARM.exidx"
	// StackCFI are the records of Breakpad's symbol files, which are no part of a binary. The container has their text:
	// StackCFI(addr uint64) (start uint64, init, changes []byte, ok bool).
	StackCFI TableKind = "STACK CFI"
	// RuntimeFunctions are the entries of a PE file's .pdata. What they say counts from the file's base.
	RuntimeFunctions TableKind = ".pdata"
	// CompactUnwind is Mach-O's __unwind_info (mach-o/compact_unwind_encoding.h).
	CompactUnwind TableKind = "__unwind_info"
)

// Table returns the unwind table of a kind; its Size is 0 where there is none.
func (h *Header) Table(kind TableKind) Table {
	for _, t := range h.Tables {
		if t.Kind == kind {
			return t
		}
	}
	return Table{}
}
