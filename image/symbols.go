package image

import "github.com/backsight/backsight/cpu"

// Symbol names an address.
type Symbol struct {
	Name string
	// Addr has the ISA mode bit removed; Mode keeps it.
	Addr uint64
	Mode cpu.Mode
	// Size is 0 where the file does not say; lookup then reaches to the next symbol.
	Size uint64
	// Exported: Size is 0, and the file names only what others may call. Functions without a name may lie behind this one.
	Exported bool
	// Resolver: the function there tells the dynamic linker where calls go (STT_GNU_IFUNC).
	Resolver bool
}

// Symbols are what a file says of names and functions. Addresses are image addresses.
type Symbols struct {
	container Container
}

// At finds the function symbol that covers addr. Where symbols have no size, it is the nearest
// below.
func (s Symbols) At(addr uint64) (Symbol, bool) {
	if s.container == nil {
		return Symbol{}, false
	}
	return s.container.SymbolAt(addr)
}

// Named finds a defined symbol by its exact name.
func (s Symbols) Named(name string) (Symbol, bool) {
	if s.container == nil {
		return Symbol{}, false
	}
	return s.container.SymbolNamed(name)
}

// loadedNamer is a Container that tells the symbols of the file itself from those of its debug file.
type loadedNamer interface {
	LoadedSymbol(name string) (Symbol, bool)
}

// Loaded is Named for a symbol that a program shows others: of a file that has symbols itself, no debug file is looked for, which
// may be far away.
func (s Symbols) Loaded(name string) (Symbol, bool) {
	if l, is := ContainerAs[loadedNamer](s.container); is {
		return l.LoadedSymbol(name)
	}
	return s.Named(name)
}

// HasFunctions tells whether there is any function symbol.
func (s Symbols) HasFunctions() (some bool) {
	s.Functions(func(uint64, cpu.Mode, uint64) bool {
		some = true
		return false
	})
	return some
}

// Functions calls yield for the address, mode and size of every function symbol, in no order, until
// yield returns false. It builds no strings.
func (s Symbols) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	if s.container != nil {
		s.container.Functions(yield)
	}
}

// starter is a Container that knows where all functions begin.
type starter interface {
	FunctionStarts(yield func(addr uint64, mode cpu.Mode) bool) bool
}

// FunctionStarts calls yield for the first address of each function, where the linker listed them
// all (Mach-O's LC_FUNCTION_STARTS), until yield returns false. It reports whether there is such a
// list. It builds no strings.
func (s Symbols) FunctionStarts(yield func(addr uint64, mode cpu.Mode) bool) bool {
	list, is := ContainerAs[starter](s.container)
	return is && list.FunctionStarts(yield)
}

// bounder is a Container that knows where functions end.
type bounder interface {
	FunctionAt(addr uint64) (lo, hi uint64, mode cpu.Mode, ok bool)
}

// FunctionAt bounds the function of an address: by a symbol with a size (ELF), or by the list of FunctionStarts, where hi is the first
// address of the next function. ok is false where neither has the address. It builds no strings.
func (s Symbols) FunctionAt(addr uint64) (lo, hi uint64, mode cpu.Mode, ok bool) {
	if c, is := ContainerAs[bounder](s.container); is {
		return c.FunctionAt(addr)
	}
	return 0, 0, 0, false
}
