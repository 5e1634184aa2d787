package pclntab

import (
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// locate finds where the text is that functions' offsets are from. stated is what the header says,
// 0 since Go 1.26 and in files that are loaded anywhere; the runtime has the address from its variable
// runtime.firstmoduledata then. What tells the address:
//
//   - Since Go 1.26 the variable has a section of its own.
//   - Where no C code is linked in, the section .text has nothing else.
//   - Of a file that is loaded anywhere relocations list all addresses in data, and the variable holds
//     where the last function ends, too.
//   - The program may begin at a function of the text that is called so: _rt0_amd64_linux.
func (t *Table) locate(img *image.Image, stated uint64) (uint64, bool) {
	if stated != 0 {
		return stated, t.fits(img, stated)
	}
	s, _ := img.Sections.Loaded(".go.module")
	r := bin.NewAt(s.Data, moduleEnd*uint64(t.word), img.Arch.BigEndian)
	if end, text := r.Uint(t.word), r.Uint(t.word); text != 0 && end-text == t.size() && t.fits(img, text) {
		return text, true
	}
	if s, ok := img.Sections.Loaded(".text"); ok && uint64(len(s.Data)) == t.size() && t.fits(img, s.Addr) {
		return s.Addr, true
	}
	if text, ok := t.relocated(img); ok {
		return text, true
	}
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
