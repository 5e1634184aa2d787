// Package breakpad opens Breakpad's symbol files: of a binary the names of its functions, and its call frame information
// as text, without any of its code. Such a file stands in for a binary that is not at hand.
//
//	MODULE Linux mips 4D0B0C9158B833BE5F953CC7943BF0500 pub
//	INFO CODE_ID 910C0B4D8B15E33B5F953CC7943BF05223A95D6
//	FUNC 320 50 0 coldf                             address, size, parameters, name
//	PUBLIC 2dc 0 _init
//	FILE 3 pub.c; INLINE_ORIGIN 1 Sq::area(int)     numbered names
//	INLINE 0 42 3 1 328 10                          depth, line and file of the call, what was inlined where
//	320 8 17 3                                      address, size, line, file
//	STACK CFI INIT 890 50 .cfa: $sp 0 + .ra: $ra    address, size, rules
//	STACK CFI 898 .cfa: $sp 40 +                    what changes from an address on
//	STACK WIN 4 320 50 …                            the same of 32-bit Windows
//
// Addresses count from the binary's lowest address. Specification: google_breakpad, docs/symbol_files.md.
package breakpad

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "breakpad", Sniff: Sniff, Open: open}
}

// Sniff tells whether a file begins as a symbol file does.
func Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte("MODULE ")) }

// processors are what MODULE calls processors, as far as the word tells which descriptor is meant.
func processors() map[string]string {
	return map[string]string{"x86": "i386", "x86_64": "x86_64", "arm": "arm", "arm64": "aarch64", "mips": "mips", "mips64": "mips64", "riscv": "riscv32", "riscv64": "riscv64"}
}

// linesUntilAsked is how many lines are read before the context is asked.
const linesUntilAsked = 1 << 12

// function is a record of the file: where its line lies. Large programs have a million.
type function struct {
	addr       uint64
	size, line uint32
}

// contains tells whether an address, not in front of the record's, lies in it.
func (f *function) contains(addr uint64) bool { return addr-f.addr < uint64(f.size) }

// container has the records of a file, each sorted by address.
type container struct {
	file      *image.File
	arch      *cpu.Arch
	functions []function // FUNC, and PUBLIC with size 0
	cfi       []function // STACK CFI INIT
	win       []function // STACK WIN
	files     []function // FILE, INLINE_ORIGIN: numbers are addresses
	origins   []function
}

// open reads the whole file once. The processor is the one that the caller asks for: MODULE says mips of both byte orders, and
// dump_syms says mips of 64 bits as well.
func open(f *image.File, opt image.Options) (*image.Image, error) {
	module := bytes.Fields(f.Data[:max(0, bytes.IndexByte(f.Data, '\n'))])
	if len(module) < 5 {
		return nil, f.Errorf(0, "a symbol file whose first line is broken")
	}
	h := image.Header{Path: f.Name, Arch: opt.Arch, Relocatable: true}
	if h.Arch == nil {
		a, ok := opt.Archs.ByName(processors()[string(module[2])], "", false)
		if !ok {
			return nil, f.Errorf(0, "a symbol file of an unknown processor, %q", module[2])
		}
		h.Arch = a
	}
	c := newContainer(f, h.Arch)
	end, lines := uint64(0), 0
	for at, line := range linesOf(f.Data) {
		if lines++; lines%linesUntilAsked == 0 && opt.Context != nil && opt.Context.Err() != nil {
			return nil, &image.Error{Path: f.Name, Offset: int64(at), Reason: "not read", Err: opt.Context.Err()}
		}
		if id, ok := bytes.CutPrefix(line, []byte("INFO CODE_ID ")); ok {
			id, _, _ = bytes.Cut(bytes.TrimSpace(id), []byte(" "))
			h.BuildID, _ = hex.DecodeString(string(id))
		} else {
			end = max(end, c.add(line, uint32(at)))
		}
	}
	for _, list := range [][]function{c.functions, c.cfi, c.win, c.files, c.origins} {
		byAddr := func(a, b function) int { return cmp.Compare(a.addr, b.addr) }
		if !slices.IsSortedFunc(list, byAddr) {
			slices.SortStableFunc(list, byAddr)
		}
	}
	c.closeLast()
	h.Segments = image.Segments{{Size: end, Read: true, Exec: true}}
	if len(c.cfi)+len(c.win) > 0 {
		h.Tables = []image.Table{{Kind: image.StackCFI, Range: image.Range{Size: end}}}
	}
	return image.New(h, c), nil
}

// closeLast takes the last function, where it has no size, to be as long as the one in front. Behind the code of a file that has
// no more than PUBLIC records lie its constants.
func (c *container) closeLast() {
	if n := len(c.functions); n > 1 && c.functions[n-1].size == 0 {
		c.functions[n-1].size = uint32(min(c.functions[n-1].addr-c.functions[n-2].addr, math.MaxUint32))
	}
}

// linesOf yields the lines of a file without their ends, and where they begin.
func linesOf(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for at := 0; at < len(data); {
			n := bytes.IndexByte(data[at:], '\n')
			if n < 0 {
				n = len(data) - at
			}
			if !yield(at, data[at:at+n]) {
				return
			}
			at += n + 1
		}
	}
}

// kind is what a line is a record of.
type kind uint8

const (
	otherLine kind = iota
	funcLine
	publicLine
	cfiLine
	winLine
	fileLine
	originLine
	kinds
)

// prefixes are what the lines of records begin with. Most lines of a file are of none, and begin with a digit.
var prefixes = [...]struct {
	text string
	kind kind
}{{"FUNC ", funcLine}, {"PUBLIC ", publicLine}, {"FILE ", fileLine}, {"INLINE_ORIGIN ", originLine}, {"STACK CFI INIT ", cfiLine},
	{"STACK WIN 4 ", winLine}, {"STACK WIN 0 ", winLine}}

func kindOf(line []byte) (k kind, rest []byte) {
	if len(line) == 0 || line[0] < 'F' || line[0] > 'S' {
		return otherLine, nil
	}
	for i := range prefixes {
		if rest, ok := bytes.CutPrefix(line, []byte(prefixes[i].text)); ok {
			return prefixes[i].kind, rest
		}
	}
	return otherLine, nil
}

// newContainer counts the records, so that no list grows.
func newContainer(f *image.File, arch *cpu.Arch) *container {
	var n [kinds]int
	for _, line := range linesOf(f.Data) {
		k, _ := kindOf(line)
		n[k]++
	}
	list := func(n int) []function { return make([]function, 0, n) }
	return &container{file: f, arch: arch, functions: list(n[funcLine] + n[publicLine]), cfi: list(n[cfiLine]), win: list(n[winLine]),
		files: list(n[fileLine]), origins: list(n[originLine])}
}

// add notes the record of a line, and is where the record ends, 0 for a line of another kind.
func (c *container) add(line []byte, at uint32) (end uint64) {
	k, rest := kindOf(line)
	switch k {
	case fileLine:
		addName(&c.files, rest, at)
	case originLine:
		addName(&c.origins, rest, at)
	case funcLine, publicLine:
		return c.addRecord(&c.functions, rest, at, k == funcLine)
	case cfiLine:
		return c.addRecord(&c.cfi, rest, at, true)
	case winLine:
		return c.addRecord(&c.win, rest, at, true)
	}
	return 0
}

// addRecord reads the address and the size, if there is one, that a record begins with.
func (c *container) addRecord(list *[]function, text []byte, at uint32, sized bool) (end uint64) {
	addr, rest, ok := number(bytes.TrimPrefix(text, []byte("m ")))
	size := uint64(0)
	if sized && ok {
		size, _, ok = number(rest)
	}
	addr, _ = c.arch.SplitCode(addr)
	if !ok || size > ^addr || size > math.MaxUint32 {
		return 0
	}
	*list = append(*list, function{addr, uint32(size), at})
	return addr + size
}

// number reads a hexadecimal number and the space behind.
func number(s []byte) (v uint64, rest []byte, ok bool) {
	word, rest, _ := bytes.Cut(s, []byte(" "))
	v, err := strconv.ParseUint(string(bytes.TrimSpace(word)), 16, 64)
	return v, rest, err == nil
}

// line is the record's line.
func (c *container) line(f *function) []byte {
	b := c.file.Data[f.line:]
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		b = b[:n]
	}
	return bytes.TrimSuffix(b, []byte("\r"))
}

// symbol is a record as a symbol. Names have spaces.
func (c *container) symbol(f *function) image.Symbol {
	kind, rest, _ := bytes.Cut(c.line(f), []byte(" "))
	rest = bytes.TrimPrefix(rest, []byte("m "))
	before := 3 // address, size, size of parameters
	if string(kind) == "PUBLIC" {
		before = 2
	}
	addr, _, _ := number(rest)
	_, mode := c.arch.SplitCode(addr)
	for range before {
		_, rest, _ = bytes.Cut(rest, []byte(" "))
	}
	return image.Symbol{Name: string(rest), Addr: f.addr, Mode: mode, Size: uint64(f.size)}
}

// last is the last record of a sorted list that begins at an address or before, nil for none.
func last(list []function, addr uint64) *function {
	i := sort.Search(len(list), func(i int) bool { return list[i].addr > addr })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

// SymbolAt implements image.Container.
func (c *container) SymbolAt(addr uint64) (image.Symbol, bool) {
	f := last(c.functions, addr)
	if f == nil || f.size != 0 && !f.contains(addr) {
		return image.Symbol{}, false
	}
	return c.symbol(f), true
}

// SymbolNamed implements image.Container.
func (c *container) SymbolNamed(name string) (image.Symbol, bool) {
	for i := range c.functions {
		if s := c.symbol(&c.functions[i]); s.Name == name {
			return s, true
		}
	}
	return image.Symbol{}, false
}

// Functions implements image.Container.
func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	for i := range c.functions {
		f := &c.functions[i]
		if !yield(f.addr, 0, uint64(f.size)) {
			return
		}
	}
}

// StackCFI is the text of the call frame information that covers an address: where it begins to hold, the rules there, and
// the lines behind with what changes.
func (c *container) StackCFI(addr uint64) (start uint64, init, changes []byte, ok bool) {
	f := last(c.cfi, addr)
	if f == nil || !f.contains(addr) {
		return 0, nil, nil, false
	}
	line := c.line(f)
	_, _, rules := cutNumbers(bytes.TrimPrefix(line, []byte("STACK CFI INIT ")))
	return f.addr, rules, c.file.Data[min(len(c.file.Data), int(f.line)+len(line)):], true
}

// cutNumbers takes two numbers off a line.
func cutNumbers(s []byte) (a, b uint64, rest []byte) {
	a, s, _ = number(s)
	b, s, _ = number(s)
	return a, b, s
}

// Hollow tells that the file has no code.
func (c *container) Hollow() bool { return true }

// Section implements image.Container.
func (c *container) Section(string) (image.Section, bool) { return image.Section{}, false }

// Files are the files that the container reads.
func (c *container) Files() []*image.File { return []*image.File{c.file} }

// Close implements image.Container.
func (c *container) Close() error { return c.file.Close() }
