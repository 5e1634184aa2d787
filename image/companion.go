package image

// companion is a Container that opens files which its debug information names.
type companion interface {
	Companion(path string) (section func(name string) []byte, ok bool)
}

// Companion opens a file of the same kind that the image's debug information names, where that
// is found: below Options.Roots, if there are any, else at its path. section reads a section
// of that file, nil where there is none, as long as the image is open.
func (img *Image) Companion(path string) (section func(name string) []byte, ok bool) {
	if c, is := ContainerAs[companion](img.container); is {
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
func (img *Image) Supplement() (section func(name string) []byte, ok bool) {
	if s, is := ContainerAs[supplementer](img.container); is {
		return s.Supplement()
	}
	return nil, false
}
