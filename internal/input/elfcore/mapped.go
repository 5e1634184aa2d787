package elfcore

// mappedELF is what the captured first page of a mapped ELF file tells. The
// kernel keeps that page of every binary (bit 4 of core_dump_filter).
type mappedELF struct {
	header
	found   bool
	bias    uint64
	buildID []byte
}

// maxMappedPhdr bounds the program headers of a mapped file; they share a page
// with the ELF header.
const maxMappedPhdr = 128

// Bounds of the search for a build ID: linkers write at most three note segments,
// of some hundred bytes.
const (
	maxNoteSegments = 8
	maxNotes        = 4 << 10
)

// readMapped decodes the ELF header that is mapped at base; not found where none
// of this processor was captured there.
func (s *space) readMapped(base uint64) (m mappedELF) {
	var head [headerSize]byte
	own := &s.file.header
	h, wrong := readHeader(head[:s.captured.Read(base, head[:])])
	if wrong != "" || h.machine != own.machine || h.wide != own.wide || h.big != own.big {
		return m
	}
	m.header = h
	var noteAt []phdr
	for i := range min(h.phnum, maxMappedPhdr) {
		var b [56]byte
		if s.captured.Read(base+h.phoff+i*h.phentsize, b[:h.phdrSize()]) != int(h.phdrSize()) {
			break
		}
		p := h.readPhdr(b[:])
		switch p.typ {
		case ptLoad:
			if !m.found { // the first one maps the header, at file offset 0
				m.bias, m.found = base-(p.vaddr-p.off), true
			}
		case ptNote:
			if len(noteAt) < maxNoteSegments {
				noteAt = append(noteAt, p)
			}
		}
	}
	for _, p := range noteAt {
		if m.buildID == nil {
			m.buildID = s.findBuildID(m.bias+p.vaddr, p.memsz)
		}
	}
	return m
}

// findBuildID searches captured notes for NT_GNU_BUILD_ID.
func (s *space) findBuildID(addr, size uint64) (id []byte) {
	buf := make([]byte, min(size, maxNotes))
	buf = buf[:s.captured.Read(addr, buf)]
	eachNote(buf, s.file.header.big, func(name []byte, typ uint32, desc []byte) {
		if typ == ntGNUBuildID && string(name) == "GNU" && len(desc) > 0 && id == nil {
			id = desc
		}
	})
	return id
}
