package cfi

import (
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/unwind"
)

// table is an image's call frame information, found once and kept in its Memo.
type table struct {
	arch  *cpu.Arch
	slots *slots // by DWARF's numbers
	signs bool   // the ABI has RA_SIGN_STATE
	eh    lookup
	// debug is valid once opened.
	debug  lookup
	opened sync.Once
}

// lookup finds FDEs of one section.
type lookup struct {
	frames
	hdr     header
	compact *compactunwind.Table // of the image that .eh_frame is of, may be nil
	checked sync.Once
	sound   bool // valid once checked
	indexed sync.Once
	index   *index // valid once indexed
}

// tableKey is the Memo key of an image's table.
type tableKey struct{ arch *cpu.Arch }

func tableOf(img *image.Image, arch *cpu.Arch) *table {
	return img.Memo(tableKey{arch}, func() any { return newTable(img, arch) }).(*table)
}

// maxSection bounds a section, so that offsets fit 32 bits.
const maxSection = 1<<32 - 1

func newTable(img *image.Image, arch *cpu.Arch) *table {
	_, signs := arch.RegByName("ra_sign_state")
	t := &table{arch: arch, slots: newSlots(arch), signs: signs}
	base := section{img: img, arch: arch, slots: t.slots}
	if img.SwappedEH {
		base.slots = t.slots.swapped(arch)
	}
	t.eh.hdr = findHeader(img, base)
	t.eh.frames = ehFrame(img, base, &t.eh.hdr)
	t.eh.compact = compactunwind.Of(img)
	return t
}

// debugFrame finds .debug_frame on the first question that .eh_frame does not
// answer: it may have to be read from a separate file and decompressed.
func (t *table) debugFrame() *lookup {
	t.opened.Do(func() {
		base := section{img: t.eh.img, arch: t.arch, slots: t.slots}
		sec, _ := base.img.Sections.Named(".debug_frame")
		base.data = sec.Data[:min(uint64(len(sec.Data)), maxSection)]
		t.debug.frames = frames{section: base, cies: new(cieCache)}
	})
	return &t.debug
}

// ehFrame finds .eh_frame as a section or, where nothing tells of sections, by
// .eh_frame_hdr. Where nothing tells its end, its terminator does.
func ehFrame(img *image.Image, base section, hdr *header) frames {
	s := frames{section: base, eh: true, cies: new(cieCache)}
	if sec, ok := img.Sections.Named(".eh_frame"); ok {
		s.addr, s.data, s.open = sec.Addr, sec.Data, sec.NoEnd
	} else if hdr.framePtr != 0 {
		s.addr, s.data, s.open = hdr.framePtr, img.Segments.Bytes(hdr.framePtr), true
	}
	s.data = s.data[:min(uint64(len(s.data)), maxSection)]
	return s
}

// find looks for the FDE that covers pc: in .eh_frame, then in .debug_frame.
func (t *table) find(pc uint64, f *fde) (*lookup, unwind.Verdict) {
	v := t.eh.find(pc, f)
	if v == unwind.Found {
		return &t.eh, v
	}
	debug := t.debugFrame()
	if w := debug.find(pc, f); w != unwind.NotCovered {
		return debug, w
	}
	return nil, v
}

func (l *lookup) find(pc uint64, f *fde) unwind.Verdict {
	if len(l.data) == 0 {
		return unwind.NotCovered
	}
	if l.hdr.count > 0 {
		found, sure := l.findByHeader(pc, f)
		if found {
			return unwind.Found
		}
		if sure {
			return unwind.NotCovered
		}
	}
	if e, ok := l.compact.Find(pc); ok && e.Encoding.Mode() != 0 {
		if off, dwarf := l.compact.FDE(e.Encoding); !dwarf {
			return unwind.NotCovered
		} else if l.readFDE(off, f) && f.covers(pc) {
			return unwind.Found
		}
	}
	x := l.sorted()
	if off, ok := x.search(pc); ok && l.readFDE(off, f) && f.covers(pc) {
		return unwind.Found
	}
	if x.damaged {
		return unwind.Malformed
	}
	return unwind.NotCovered
}

// findByHeader takes nothing on trust: the FDE itself must cover pc. sure tells
// whether a miss means anything.
func (l *lookup) findByHeader(pc uint64, f *fde) (found, sure bool) {
	i := l.hdr.search(pc)
	if i < 0 {
		return false, l.headerSound()
	}
	start, at := l.hdr.row(i)
	if !l.readFDE(at-l.addr, f) {
		return false, false
	}
	if f.covers(pc) && l.img.Segments.Executable(f.start) {
		return true, true
	}
	return false, f.start == start && l.headerSound()
}

// headerSound checks the whole header, once and on the first miss only.
func (l *lookup) headerSound() bool {
	l.checked.Do(func() { l.sound = l.hdr.sound(&l.frames) })
	return l.sound
}

func (l *lookup) sorted() *index {
	l.indexed.Do(func() { l.index = l.buildIndex() })
	return l.index
}

// ranges yields the range of every FDE, in order of start. It reports false when
// yield stopped it.
func (l *lookup) ranges(yield func(lo, hi uint64) bool) bool {
	return l.entries(func(f *fde) bool { return yield(f.start, f.start+f.size) })
}

// entries yields every FDE, in order of start.
func (l *lookup) entries(yield func(f *fde) bool) bool {
	if l.hdr.count > 0 && l.headerSound() {
		return l.each(l.hdr.count, func(i int) uint64 { _, at := l.hdr.row(i); return at - l.addr }, yield)
	}
	if len(l.data) == 0 {
		return true
	}
	x := l.sorted()
	return l.each(len(x.items), func(i int) uint64 { return uint64(x.items[i].off) }, yield)
}

func (l *lookup) each(n int, off func(int) uint64, yield func(f *fde) bool) bool {
	var f fde
	for i := range n {
		if l.readFDE(off(i), &f) && f.size != 0 && l.img.Segments.Executable(f.start) && !yield(&f) {
			return false
		}
	}
	return true
}
