package image

// Section is a named range. Data is decompressed where the file compresses it.
type Section struct {
	Name string
	// Addr is 0 for sections that are not loaded.
	Addr uint64
	Data []byte
	// NoEnd: the file does not say where the section ends. Data then has all that may
	// belong to it.
	NoEnd bool
}

// Section returns a section by name, read once and kept.
func (img *Image) Section(name string) (Section, bool) {
	type key struct{ section string }
	s := img.Memo(key{name}, func() any {
		if img.container == nil {
			return (*Section)(nil)
		}
		if s, ok := img.container.Section(name); ok {
			return &s
		}
		return (*Section)(nil)
	}).(*Section)
	if s == nil {
		return Section{}, false
	}
	return *s, true
}

// Loaded is Section for a section that the program is loaded with: no debug file is looked for,
// which may be far away.
func (img *Image) Loaded(name string) (Section, bool) {
	if l, ok := ContainerAs[loader](img.container); ok {
		return l.Loaded(name)
	}
	return img.Section(name)
}

// SectionSize is the size of a section in bytes, decompressed; 0 where there is none.
// It reads nothing of the section.
func (img *Image) SectionSize(name string) uint64 {
	if p, ok := ContainerAs[parter](img.container); ok {
		return p.SectionSize(name)
	}
	s, _ := img.Section(name)
	return uint64(len(s.Data))
}

// SectionPart returns n bytes of a section from off on, fewer only where it ends.
// What lies behind is not read, and what lies before not kept: of a compressed
// section the parts are best asked for in order.
func (img *Image) SectionPart(name string, off, n uint64) []byte {
	if p, ok := ContainerAs[parter](img.container); ok {
		return p.SectionPart(name, off, n)
	}
	s, _ := img.Section(name)
	return s.Part(off, n)
}

// Part returns n bytes from off on, fewer where the section ends.
func (s *Section) Part(off, n uint64) []byte {
	size := uint64(len(s.Data))
	off = min(off, size)
	return s.Data[off : off+min(n, size-off)]
}
