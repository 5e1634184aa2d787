// Package symbol names addresses: function and offset, source file and line, and
// the functions that the compiler inlined there.
//
//	address ─► ELF symbol ─────────────────────► function, offset
//	        ├► unit ─► subprogram ─► inlined ──► function where no symbol is, inlined calls
//	        │    └───► line table ─────────────► file, line
//	        └► Go's own table ─────────────────► file, line where no DWARF is
//
// The symbol's name is preferred to DWARF's: it is there more often, and it tells
// the parts of a function apart that the compiler split (foo.cold, foo.part.0).
//
// Specifications: DWARF 5, chapters 3, 6 and 7.
package symbol

import (
	"errors"
	"strings"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/target"
)

// Location is what is known of an address. Absent things are "" and 0.
type Location struct {
	Function string
	// Entry is the image address where Function begins; NoEntry: nobody knows.
	Entry   uint64
	NoEntry bool
	// File and Line are the place in Function: where the outermost inlined
	// function was called, if any was.
	File string
	Line int
	// Dir is the directory in which the compiler ran; File often lies below it.
	Dir string
	// Inlines are the functions that were inlined there, innermost first.
	Inlines []Inline
}

// Inline is an inlined function and the place in it.
type Inline struct {
	Function string
	File     string
	Line     int
}

// Symbolizer looks addresses up. What it learns of an image is kept with the
// image. It is safe for concurrent use.
type Symbolizer struct {
	// Mangled leaves names as they are in the file.
	Mangled bool
	// Holds tells whether a place belongs to the function at entry, or may do so; both are image addresses. It is asked for places
	// behind functions of which the file does not say how far they reach (image.Symbol.Exported). nil: they reach to the next.
	Holds func(img *image.Image, entry, addr uint64, mode cpu.Mode) bool

	mu     sync.Mutex
	listed names // that no file has
}

// Readable is the readable form of a name that a capture has, or the name itself where Mangled.
func (s *Symbolizer) Readable(name string) string {
	if s.Mangled {
		return name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed.readable(name)
}

// maxKnown bounds the answers kept for an image. Backtraces of one program
// share most of their addresses.
const maxKnown = 1 << 16

// answers are the locations of one image that were asked for.
type answers struct {
	mu     sync.Mutex
	known  map[uint64]*Location
	last   *Location // that was looked up
	names  names
	debug  *debugInfo
	unread int // addresses that are to come before the image's pages are given back
}

// Lookup names an image address of a module, without ISA mode bit. For a frame that
// waits for a call it should lie within the call instruction: behind a call that never
// returns another function may begin. Of a module without Image nothing is known.
func (s *Symbolizer) Lookup(m *target.Module, addr uint64) Location {
	if m.Image == nil {
		return Location{}
	}
	a := s.answers(m.Image)
	a.mu.Lock()
	defer a.mu.Unlock()
	return s.lookup(a, m.Image, addr)
}

func (s *Symbolizer) answers(img *image.Image) *answers {
	type key struct{ mangled, bounded bool }
	return img.Memo(key{s.Mangled, s.Holds != nil}, func() any {
		return &answers{known: make(map[uint64]*Location), names: names{mangled: s.Mangled}}
	}).(*answers)
}

func (a *answers) has(addr uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.known[addr]
	return ok
}

// issue is what is missing from the answers, "": nothing.
func (a *answers) issue() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.debug == nil {
		return ""
	}
	return a.debug.issue
}

func (a *answers) dwarf(img *image.Image) *debugInfo {
	if a.debug == nil {
		a.debug = debugOf(img, &a.names)
	}
	return a.debug
}

func (s *Symbolizer) lookup(a *answers, img *image.Image, addr uint64) Location {
	if known, ok := a.known[addr]; ok {
		return *known
	}
	return s.learn(a, img, addr)
}

// learn looks up what is not known. An answer takes memory of its own, which lookup must not.
func (s *Symbolizer) learn(a *answers, img *image.Image, addr uint64) (l Location) {
	if fault := mapped.Guard(func() { l = s.find(a, img, addr) }); fault != nil {
		blame(img, fault)
		return Location{}
	}
	if len(a.known) >= maxKnown {
		clear(a.known)
	}
	if a.last == nil || !a.last.same(&l) {
		last := l
		a.last = &last
	}
	a.known[addr] = a.last
	return l
}

// same tells whether two locations without inlined calls are the same. Where no lines are known, all addresses of a function have one.
func (l *Location) same(o *Location) bool {
	return l.Function == o.Function && l.Entry == o.Entry && l.NoEntry == o.NoEntry && l.File == o.File && l.Line == o.Line && l.Dir == o.Dir &&
		len(l.Inlines)+len(o.Inlines) == 0
}

// blame makes the image tell that its file cannot be read any more.
func blame(img *image.Image, err error) {
	var fault *mapped.Fault
	if errors.As(err, &fault) {
		img.Files.Blame(fault)
	}
}

// goABI0 ends the symbols of Go functions that are written in assembly
// (runtime.raise.abi0); their names in Go, and in DWARF, do not have it.
const goABI0 = ".abi0"

// golang takes the places that Go's table has.
func (l *Location) golang(places []pclntab.Place) {
	for i := range places {
		p := &places[i]
		if i < len(places)-1 {
			l.Inlines = append(l.Inlines, Inline{Function: p.Function, File: p.File, Line: p.Line})
		} else {
			l.File, l.Line = p.File, p.Line
		}
	}
}

// reaches tells whether a symbol that lies at or before addr names addr.
func (s *Symbolizer) reaches(img *image.Image, sym *image.Symbol, addr uint64) bool {
	return !sym.Exported || sym.Addr == addr || s.Holds == nil || s.Holds(img, sym.Addr, addr, sym.Mode)
}

// find looks addr up in the symbols, in DWARF and in Go's table.
func (s *Symbolizer) find(a *answers, img *image.Image, addr uint64) Location {
	debug := a.dwarf(img)
	l := debug.locate(addr)
	if l.Function == "" && l.File == "" {
		l = debug.locateInObject(addr)
	}
	if sym, ok := img.Symbols.At(addr); ok && sym.Name != "" && s.reaches(img, &sym, addr) {
		l.Function, l.Entry = unversioned(sym.Name), sym.Addr
	}
	if l.File == "" {
		l.golang(pclntab.Places(img, addr))
	}
	if own, ok := img.Debug.LineAt(addr); ok && l.File == "" {
		l.File, l.Line = own.File, own.Line
		for _, c := range own.Inlines {
			l.Inlines = append(l.Inlines, Inline{Function: a.names.readable(c.Function), File: c.File, Line: c.Line})
		}
	}
	if !s.Mangled {
		l.Function = a.names.readable(strings.TrimSuffix(l.Function, goABI0))
	}
	return l
}
