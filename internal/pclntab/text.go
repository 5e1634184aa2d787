package pclntab

import (
	"iter"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// locate finds where the text is that functions' offsets are from. addr is where the header is, which states the
// text's address but for 0 since Go 1.26 and in files that are loaded anywhere. What tells the address:
//
//   - The runtime's variable runtime.firstmoduledata, where the file has what the variable holds.
//   - Of a file that is loaded anywhere relocations list all addresses in data, and the variable holds
//     where the last function ends, too.
//   - The program may begin at a function of the text that is called so: _rt0_amd64_linux.
func (t *Table) locate(img *image.Image, addr uint64) bool {
	t.addr = addr
	if t.text != 0 {
		return t.fits(img, t.text)
	}
	text, ok := t.module(img)
	if !ok {
		text, ok = t.relocated(img)
	}
	if !ok {
		text, ok = t.start(img)
	}
	t.text = text
	return ok
}

// start is the text's address by the function that the program begins at.
func (t *Table) start(img *image.Image) (text uint64, ok bool) {
	entry, _ := img.Arch.SplitCode(img.Entry)
	for i := range t.count {
		if f, ok := t.function(i); ok && strings.HasPrefix(f.Name(), "_rt0_") && t.fits(img, entry-f.Lo) {
			return entry - f.Lo, true
		}
	}
	return 0, false
}

// moduleEnd is the place of the fields maxpc and text in runtime.moduledata, in words.
const moduleEnd = 21

// module finds the variable of type runtime.moduledata for the table, which the linker writes
// and the program, too: the header's address, and those of the five parts with their lengths and capacities.
func (t *Table) module(img *image.Image) (text uint64, ok bool) {
	for i := range img.Segments {
		s := &img.Segments[i]
		for at := range t.modules(s) {
			word := func(i int) uint64 { r := bin.NewAt(s.Data, uint64(at+i*t.word), bool(t.order)); return r.Uint(t.word) }
			if text := word(moduleEnd + 1); word(moduleEnd)-text == t.size() && t.fits(img, text) {
				return text, true
			}
		}
	}
	return 0, false
}

// modules are the places in a segment that hold such a variable's first fields.
func (t *Table) modules(s *image.Segment) iter.Seq[int] {
	return func(yield func(at int) bool) {
		if !s.Write {
			return
		}
		for at := range occurrences(s.Data, encoded(bool(t.order), t.word, t.addr)) {
			is := true
			for i, off := range t.offsets {
				r := bin.NewAt(s.Data, uint64(at+(1+3*i)*t.word), bool(t.order))
				is = is && r.Uint(t.word) == t.addr+off
			}
			if is && !yield(at) {
				return
			}
		}
	}
}

// relocated finds two addresses in the image's data that are as far apart as the text is long.
func (t *Table) relocated(img *image.Image) (text uint64, ok bool) {
	held := make(map[uint64]struct{}) // as many as the file has relocations
	img.Rebased(func(v uint64) bool {
		if img.Segments.Executable(v) || img.Segments.Executable(v-1) {
			held[v] = struct{}{}
		}
		return true
	})
	for v := range held {
		if _, both := held[v+t.size()]; both && t.fits(img, v) {
			if ok {
				return 0, false
			}
			text, ok = v, true
		}
	}
	return text, ok
}

// fits tells whether all of the text lies in one executable segment if it begins at addr.
func (t *Table) fits(img *image.Image, addr uint64) bool {
	s, ok := img.Segments.At(addr)
	return ok && s.Exec && t.size() <= s.Addr+s.Size-addr
}
