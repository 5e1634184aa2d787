package image

import "github.com/backsight/backsight/cpu"

// Container reads what is lazy out of a file format. Methods are called from several
// goroutines; Section once for a name.
//
// A Container may have more methods. Each is one of the unexported interfaces beside the question
// that it answers: loader and parter (Sections), starter and loadedNamer (Symbols), importer and rebaser (Image),
// hollower (Image), companion, supplementer and debugMapper (DebugInfo). An Image whose Container lacks a
// method answers as the comment on that question says; a Wrapper is asked for the methods of the
// Container that it wraps.
type Container interface {
	// Section returns the named section, searching separate debug files for
	// names that begin with ".debug_" or when the file has none.
	Section(name string) (Section, bool)
	// SymbolAt finds the function symbol that covers an image address. No string is built but
	// the name that is returned.
	SymbolAt(addr uint64) (Symbol, bool)
	// Functions calls yield for the address, mode and size of every function
	// symbol, in no order, until it returns false. It builds no strings.
	Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool)
	// SymbolNamed finds a defined symbol, function or object, by its exact name.
	SymbolNamed(name string) (Symbol, bool)
	// Close releases mappings; the Image must not be used after it.
	Close() error
}

// FunctionYield takes the address, mode and size of a function; false: no further one is wanted.
type FunctionYield = func(addr uint64, mode cpu.Mode, size uint64) bool

// EachFunction calls yield for what one source after another lists, as Container.Functions does, until yield returns false.
func EachFunction(yield FunctionYield, sources ...func(FunctionYield)) {
	more := true
	for _, source := range sources {
		source(func(addr uint64, mode cpu.Mode, size uint64) bool {
			more = yield(addr, mode, size)
			return more
		})
		if !more {
			return
		}
	}
}
