// Package pclntab reads the table that the Go runtime unwinds by. Every Go program has it, stripped
// or not: names, files, lines, and how far SP is below where the function was called, at each
// instruction.
//
//	header ─┬─ functab       (offset in the text, function) …, ascending; the text's end
//	        ├─ functions     name, flags; for each value that changes along the code, where in
//	        ├─ pctab           (difference of the value, difference of the PC) …
//	        └─ names, file names
//
// Versions: those of Go 1.18 to 1.19, and of 1.20 on. Earlier tables hold addresses where these
// hold offsets, and are not read.
//
// Specifications: "Go 1.2 Runtime Symbol Information" (golang.org/s/go12symtab); of what came
// since, Go's own runtime/symtab.go and internal/abi/symtab.go.
package pclntab

import (
	"bytes"
	"iter"
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// The versions, by their magic numbers.
const (
	go118 = 0xfffffff0
	go120 = 0xfffffff1
)

// Table is the table of one image. Addresses are image addresses.
type Table struct {
	order   bin.Order
	word    int    // bytes of an address
	quantum uint64 // PCs differ by multiples of so many bytes
	late    bool   // of Go 1.20 or later: functions state their first line
	count   int    // functions
	text    uint64 // the address that functions' offsets are from
	addr    uint64 // of the header

	offsets [5]uint64 // from the header to names, units, files, values, functions
	// All of these reach as far as the file says that the table does.
	names, units, files, values, functions []byte
}

// sections are the names that linkers give the table's section.
var sections = [...]string{".gopclntab", ".data.rel.ro.gopclntab", "__gopclntab"}

// stamps are a section that Go programs have, in ELF and in Mach-O; what C's linker links may have the table
// in a section with other data (.data.rel.ro, up to Go 1.25). indexes are sections of all files that have any:
// whoever packs a program may take all headers of sections away.
var (
	stamps  = [...]string{".go.buildinfo", "__go_buildinfo"}
	indexes = [...]string{".shstrtab", "__text"}
)

// Of is the table of an image, nil where the image has none that can be read.
func Of(img *image.Image) *Table {
	type key struct{}
	return img.Memo(key{}, func() any { return find(img) }).(*Table)
}

func find(img *image.Image) *Table {
	has := func(name string) bool { _, ok := img.Sections.Loaded(name); return ok }
	for _, name := range sections {
		if s, ok := img.Sections.Loaded(name); ok {
			if t, ok := header(img, s.Data); ok && t.complete(img, s.Addr) {
				return t
			}
			return nil
		}
	}
	if !slices.ContainsFunc(stamps[:], has) && slices.ContainsFunc(indexes[:], has) {
		return nil
	}
	left := maxSearched
	for _, s := range img.Segments {
		s.Data = s.Data[:min(len(s.Data), left)]
		if t := search(img, s); t != nil {
			return t
		}
		left -= len(s.Data)
	}
	return nil
}

// maxSearched is how many bytes of an image are searched: a machine's memory may be an image without sections.
const maxSearched = 256 << 20

// maxHeaders is how many headers with offsets inside a segment are looked at closely.
const maxHeaders = 8

// search looks for the table in a segment, by the header's magic number and the zeros behind.
func search(img *image.Image, s image.Segment) *Table {
	left := maxHeaders
	for _, magic := range [...]uint64{go120, go118} {
		mark := append(encoded(img.Arch.BigEndian, 4, magic), 0, 0)
		for at := range occurrences(s.Data, mark) {
			t, ok := header(img, s.Data[at:])
			if !ok {
				continue
			}
			if t.complete(img, s.Addr+uint64(at)) {
				return t
			}
			if left--; left == 0 {
				return nil
			}
		}
	}
	return nil
}

// encoded is v as n bytes.
func encoded(bigEndian bool, n int, v uint64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	if bigEndian {
		slices.Reverse(b)
	}
	return b
}

// occurrences are the places in data that hold what.
func occurrences(data, what []byte) iter.Seq[int] {
	return func(yield func(at int) bool) {
		for at := 0; ; at++ {
			next := bytes.Index(data[at:], what)
			if next < 0 || !yield(at+next) {
				return
			}
			at += next
		}
	}
}

// header reads the header:
//
//	0  magic   4  0, 0   6  instruction size   7  address size
//	8  functions, files, the text's address, offsets of names, units, files, values, functab
func header(img *image.Image, data []byte) (*Table, bool) {
	r := bin.New(data, img.Arch.BigEndian)
	magic, zero, quantum, word := r.U32(), r.U16(), r.U8(), int(r.U8())
	if magic != go118 && magic != go120 || zero != 0 || quantum == 0 || word != img.Arch.AddrSize {
		return nil, false
	}
	count, _, text := r.Uint(word), r.Uint(word), r.Uint(word)
	t := &Table{order: bin.Order(img.Arch.BigEndian), word: word, quantum: uint64(quantum), late: magic == go120,
		count: int(count), text: text}
	for i, part := range []*[]byte{&t.names, &t.units, &t.files, &t.values, &t.functions} {
		off := r.Uint(word)
		if off > uint64(len(data)) {
			return nil, false
		}
		*part, t.offsets[i] = data[off:], off
	}
	return t, r.Err() == nil && count > 0 && count < uint64(len(t.functions)/entrySize)
}

// complete checks the table whose header is at addr, as the runtime does when it starts (moduledataverify1):
// functions ascend, and all lie in the text. It finds the text.
func (t *Table) complete(img *image.Image, addr uint64) bool {
	for i := range t.count {
		if t.begins(i) > t.begins(i+1) {
			return false
		}
	}
	return t.locate(img, addr)
}

// entrySize is the size of an entry of functab: the offset of a function's code in the text, and
// where in functions the function is described. One more entry has the offset of the text's end.
const entrySize = 8

// begins is where function i begins in the text; for the number of functions, where the last ends.
func (t *Table) begins(i int) uint64 { return uint64(t.order.U32(t.functions[i*entrySize:])) }

// size is how many bytes the functions have.
func (t *Table) size() uint64 { return t.begins(t.count) }

// Function is a function of a Table.
type Function struct {
	// Lo and Hi are where the function begins and ends.
	Lo, Hi uint64
	table  *Table
	record []byte
}

// At is the function at pc.
func (t *Table) At(pc uint64) (Function, bool) {
	if t == nil || pc-t.text >= t.size() {
		return Function{}, false
	}
	i := sort.Search(t.count, func(i int) bool { return t.begins(i) > pc-t.text }) - 1
	if i < 0 {
		return Function{}, false
	}
	return t.function(i)
}

// function is function i of the table.
func (t *Table) function(i int) (Function, bool) {
	at := uint64(t.order.U32(t.functions[i*entrySize+4:]))
	if at > uint64(len(t.functions)) || len(t.functions[at:]) < t.fixed() {
		return Function{}, false
	}
	lo, hi := t.begins(i), min(t.begins(i+1), t.size())
	return Function{Lo: t.text + lo, Hi: t.text + hi, table: t, record: t.functions[at:]}, true
}

// Named is the function of a name.
func (t *Table) Named(name string) (Function, bool) {
	for i := range t.count {
		if f, ok := t.function(i); ok && f.Name() == name {
			return f, true
		}
	}
	return Function{}, false
}

// all calls yield for each function's beginning and size until it returns false.
func (t *Table) all(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	for i := range t.count {
		lo, hi := t.begins(i), min(t.begins(i+1), t.size())
		if hi > lo && !yield(t.text+lo, 0, hi-lo) {
			return
		}
	}
}
