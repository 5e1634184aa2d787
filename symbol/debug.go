//go:build !small

package symbol

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"
	"sort"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
)

// debugInfo is the DWARF of one image. Units are found by their address ranges; a unit is
// parsed when the first address of it is asked for.
//
// Where .debug_aranges names a unit for an address, only that unit is read. For an address that
// .debug_aranges lacks, the ranges of all units are read.
type debugInfo struct {
	img *image.Image
	// section reads a section, nil where there is none: of the image, or of its supplementary file.
	section func(name string) []byte
	sections
	units []unit
	spans []span // sorted by lo; of is an index in units
	// all: units has every unit, not only the units that .debug_aranges names.
	all bool

	// work is in entries, attributes, ranges and bytes of line programs; kept in bytes
	// of memory; abbrevs in bytes of abbreviations that units parse for themselves;
	// tables in bytes of functions' tables, which can be made anew.
	work, kept, abbrevs, tables budget.Budget

	names *names  // of the calls that were inlined
	path  []*call // where callsAt puts what it finds
	issue string  // what was left out, in a line; "": nothing

	shared    supplement
	typeUnits *typeUnits // nil: not asked for
}

// What debug information may cost. Reading a compiler's unit takes one step of work for two bytes,
// reading its lines one step a byte, each once; the memory kept of both is a fraction of their
// size. Abbreviations are a fortieth of .debug_info, and take sixteen times their size in memory.
const (
	workFloor, workPerByte   = 16 << 20, 1
	workPerLookup            = 64 << 10 // functions have some hundred entries
	keptFloor, bytesPerKept  = 16 << 20, 2
	tablesFloor              = 8 << 20 // to make the table of a function takes twice its size besides
	abbrevs, bytesPerAbbrevs = 1 << 20, 16
)

// sectionsRead are the sections whose sizes add up to what there is to read, and so to the budget.
var sectionsRead = [...]string{".debug_info", ".debug_line", ".debug_ranges", ".debug_rnglists"}

// newDebugInfo is the debug information of an image, size bytes of it, none of it read yet.
func newDebugInfo(img *image.Image, size uint64, section func(name string) []byte) *debugInfo {
	d := &debugInfo{img: img, section: section}
	d.work = budget.New("entries, ranges and rows of debug information", workFloor, workPerByte*size)
	d.kept = budget.New("bytes of tables of debug information", keptFloor, size/bytesPerKept)
	d.tables = budget.New("bytes of functions' tables", tablesFloor, size/bytesPerKept)
	d.abbrevs = budget.New("bytes of abbreviations", abbrevs, size/bytesPerAbbrevs)
	d.big = img.Arch.BigEndian
	return d
}

// leaveOut notes why answers lack something from here on. Only the first reason is kept.
func (d *debugInfo) leaveOut(section string, at uint64, why error) {
	if d.issue == "" {
		d.issue = fmt.Sprintf("%s: %s at %#x: %v; some functions and lines are not named", d.img.Path, section, at, why)
	}
}

// sections are the parts of DWARF that are read here, not by debug/dwarf.
type sections struct {
	big                   bool
	info, abbrev, aranges []byte
	str, lineStr          []byte
}

// span is a range of image addresses that belongs to something.
type span struct {
	lo, hi uint64
	of     int
}

// debugOf finds an image's DWARF, with the ranges of the units that .debug_aranges
// lists. Answers have names as these are wanted.
func debugOf(img *image.Image, as *names) *debugInfo {
	size := uint64(0)
	for _, name := range sectionsRead {
		size += img.Sections.Size(name)
	}
	d := newDebugInfo(img, size, func(name string) []byte {
		s, _ := img.Sections.Named(name)
		return s.Data
	})
	d.names, d.aranges = as, d.section(".debug_aranges")
	const shortest = 48 // bytes of a set: 16 of a header, a tuple or more, zeros
	n := min(len(d.aranges)/shortest, maxUnits)
	d.units, d.spans = make([]unit, 0, n), make([]span, 0, n)
	d.guard(func() {
		d.readAranges(func(header dwarf.Offset) (int, bool) { // a unit known by where its header is
			d.units = append(d.units, unit{header: header})
			return len(d.units) - 1, len(d.units) <= maxUnits
		})
		sortSpans(d.spans)
	})
	return d
}

// guard runs f, which calls debug/dwarf. That package reads what compilers write. On an
// attacker's sections it may panic, and then the image has no DWARF. Checks before dwarf.New and
// budgets see to it that debug/dwarf does not run away.
func (d *debugInfo) guard(f func()) {
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); fault {
				panic(r) // the file's, not the content's
			}
			d.all, d.units, d.spans = true, nil, nil
		}
	}()
	f()
}

// loadAll finds the ranges of all units.
func (d *debugInfo) loadAll() {
	d.all, d.units, d.spans = true, nil, nil
	if data := d.parseAll(); data != nil {
		d.indexUnits(data)
	} else {
		d.units = nil
	}
}

// parseAll finds all units and hands them to debug/dwarf, nil where they are not fit for it.
func (d *debugInfo) parseAll() *dwarf.Data {
	d.info, d.abbrev = d.section(".debug_info"), d.section(".debug_abbrev")
	if len(d.info) == 0 || !d.readUnits() {
		return nil
	}
	return d.parse(d.abbrev, d.info)
}

// parse hands units and their abbreviations to debug/dwarf.
func (d *debugInfo) parse(abbrev, info []byte) *dwarf.Data {
	d.str, d.lineStr = d.section(".debug_str"), d.section(".debug_line_str")
	data, err := dwarf.New(abbrev, nil, nil, info, nil, nil, d.section(".debug_ranges"), d.str)
	if err != nil {
		return nil
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if err := data.AddSection(name, d.section(name)); err != nil {
			return nil
		}
	}
	return data
}

// locate says what DWARF knows of an address.
func (d *debugInfo) locate(addr uint64) (l Location) {
	d.guard(func() {
		d.work.Add(workPerLookup)
		if u, ok := d.findUnit(addr); ok {
			u.readWhole()
			l = u.locateIn(addr)
		}
	})
	return l
}

// locateInObject is locate by the object file that an address was linked from.
func (d *debugInfo) locateInObject(addr uint64) (l Location) {
	obj, at, err := d.img.Debug.Object(addr)
	if err != nil && d.issue == "" {
		d.issue = err.Error()
	}
	if obj == nil {
		return l
	}
	type key struct{ mangled bool }
	l = obj.Memo(key{d.names.mangled}, func() any { return debugOf(obj, &names{mangled: d.names.mangled}) }).(*debugInfo).locate(at)
	l.Entry += addr - at
	return l
}

// findUnit finds the unit that an address belongs to: among the units that .debug_aranges names
// and, where none of these can be read, among all.
func (d *debugInfo) findUnit(addr uint64) (u unitReader, ok bool) {
	if u, ok = d.unitAt(addr); ok || d.all || d.linked(addr) {
		return u, ok
	}
	d.loadAll()
	return d.unitAt(addr)
}

// linked tells whether the linker made the code at an address, which no unit describes then: samples of a profile lie in a PLT.
func (d *debugInfo) linked(addr uint64) bool {
	return slices.ContainsFunc([]string{".plt", ".plt.sec", ".plt.got", ".MIPS.stubs"}, func(name string) bool {
		s, ok := d.img.Sections.Loaded(name)
		return ok && addr-s.Addr < uint64(len(s.Data))
	})
}

// unitAt is findUnit among the units known so far.
func (d *debugInfo) unitAt(addr uint64) (u unitReader, ok bool) {
	i, ok := covering(d.spans, addr)
	if !ok {
		return u, false
	}
	u = unitReader{&d.units[i], d}
	return u, u.data != nil || u.open()
}

// locateIn names an address of a unit that has been read.
func (u unitReader) locateIn(addr uint64) Location {
	l := Location{Dir: u.dir}
	l.File, l.Line = u.lines.find(addr)
	if i, ok := covering(u.functions, addr); ok {
		f := u.function(dwarf.Offset(i))
		l.Function, l.Entry = f.name, f.entry
		u.inline(&l, f, addr)
	}
	return l
}

// inline adds what was inlined at an address to a location, whose place so far is that in the innermost call. The
// caller's place is the place of the call that was inlined into the caller.
func (u unitReader) inline(l *Location, f *function, addr uint64) {
	inlined, cut := u.callsAt(f, addr)
	if cut {
		l.File, l.Line = "", 0 // the row's place is in the call that is missing
	}
	if len(inlined) == 0 {
		return
	}
	outermost := inlined[0]
	if !cut {
		l.Inlines = make([]Inline, 0, len(inlined))
		for _, c := range slices.Backward(inlined) {
			l.Inlines = append(l.Inlines, Inline{Function: u.called(c), File: l.File, Line: l.Line})
			l.File, l.Line = u.lines.path(int(c.file)), int(c.line)
		}
	}
	l.File, l.Line = u.lines.path(int(outermost.file)), int(outermost.line)
}

// lookBack is how many spans before the nearest one may enclose an address:
// functions nested in functions, units that enclose gaps of others.
const lookBack = 16

// covering is the owner (span.of) of the innermost span around addr.
func covering(spans []span, addr uint64) (of int, ok bool) {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].lo > addr })
	for k := i - 1; k >= 0 && k >= i-lookBack; k-- {
		if addr < spans[k].hi {
			return spans[k].of, true
		}
	}
	return 0, false
}

// sortSpans puts spans in the order that covering needs: by lo, inner ones last.
func sortSpans(s []span) {
	slices.SortStableFunc(s, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(b.hi, a.hi))
	})
}
