package image

// DebugInfo is where an image's debug information goes on in other files.
type DebugInfo struct {
	container Container
}

// companion is a Container that opens files which its debug information names.
type companion interface {
	Companion(path string) (section func(name string) []byte, ok bool)
}

// Companion opens a file of the same kind that the image's debug information names, where that
// is found: below Options.Roots, if there are any, else at its path. section reads a section
// of that file, nil where there is none, as long as the image is open.
func (d DebugInfo) Companion(path string) (section func(name string) []byte, ok bool) {
	if c, is := ContainerAs[companion](d.container); is {
		return c.Companion(path)
	}
	return nil, false
}

// supplementer is a Container whose debug information may refer to another file's.
type supplementer interface {
	Supplement() (section func(name string) []byte, ok bool)
}

// Supplement opens the file with what the image's debug information shares with that of other
// images (DWARF 5 §7.3.6), where that is found. section reads a section of that file, nil where
// there is none, as long as the image is open.
func (d DebugInfo) Supplement() (section func(name string) []byte, ok bool) {
	if s, is := ContainerAs[supplementer](d.container); is {
		return s.Supplement()
	}
	return nil, false
}

// debugMapper is a Container whose debug information may be in the object files that it was linked
// from.
type debugMapper interface {
	Object(addr uint64) (obj *Image, at uint64, err error)
}

// Object is the object file that the code at addr was linked from, where the image leaves its debug
// information in object files (Mach-O's debug map) and the file is found; else obj is nil. at is the
// address of the same code in the object file. The Image owns the object file. The error says why
// an object file that was found is not used.
func (d DebugInfo) Object(addr uint64) (obj *Image, at uint64, err error) {
	if m, is := ContainerAs[debugMapper](d.container); is {
		return m.Object(addr)
	}
	return nil, 0, nil
}

// SourcePlace is a line of a source file; "" and 0 where these are not known.
type SourcePlace struct {
	File string
	Line int
}

// InlinedCall is an inlined function, and the place in it.
type InlinedCall struct {
	Function string
	SourcePlace
}

// SourceLine is the place of an address in its function, where the outermost inlined function was called if any was, and the
// inlined functions, innermost first.
type SourceLine struct {
	SourcePlace
	Inlines []InlinedCall
}

// liner is a Container whose format has lines of its own.
type liner interface {
	LineAt(addr uint64) (SourceLine, bool)
}

// LineAt is the place of an image address in the source, where the file's own format tells (Breakpad's symbol files, program databases).
func (d DebugInfo) LineAt(addr uint64) (SourceLine, bool) {
	if l, is := ContainerAs[liner](d.container); is {
		return l.LineAt(addr)
	}
	return SourceLine{}, false
}
