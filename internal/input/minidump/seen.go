package minidump

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// seen is a binary that is not at hand, as far as the dump shows it: where its code was mapped, and the code around the PC of
// the crash, which Breakpad's writer stores. symbols is its symbol file, nil for none.
//
//	41e000 ── mapped executable, no code ──┐
//	41e080   256 bytes around the PC       │  forward and backward from there code tells the first frame's size
//	41e180 ────────────────────────────────┘
func (f *finder) seen(r target.Range, symbols *image.Image) *image.Image {
	h := image.Header{Arch: f.arch, Relocatable: true}
	var c image.Container = unnamed{}
	if symbols != nil {
		h, c = symbols.Header, symbols.Container()
	}
	parts, known := f.executable(r, symbols != nil)
	h.Segments = nil
	for _, code := range parts {
		if !f.dump.room.code.Draw(1) {
			break
		}
		h.Segments = append(h.Segments, f.segments(code, r.Lo, known)...)
	}
	if len(h.Segments) == 0 {
		return symbols
	}
	return image.New(h, borrowed{c})
}

// maxParts bounds the mappings of one binary's code: linkers make one or two.
const maxParts = 64

// executable are the parts of a range that were mapped executable. Where the dump does not say, all of the range may be code;
// which parts are, a symbol file tells.
func (f *finder) executable(r target.Range, named bool) (parts []target.Range, known bool) {
	if f.maps == nil {
		return []target.Range{r}, named
	}
	for i := range f.maps {
		if m := &f.maps[i]; m.exec && m.Lo < r.Hi && r.Lo < m.Hi && len(parts) < maxParts {
			parts = append(parts, target.Range{Lo: max(m.Lo, r.Lo), Hi: min(m.Hi, r.Hi)})
		}
	}
	return parts, true
}

// segments are a range as segments of a binary that was loaded at base: with the bytes that the dump has, which is code, and
// between these without; known: there is code, too.
func (f *finder) segments(code target.Range, base uint64, known bool) (segs image.Segments) {
	i, _ := slices.BinarySearchFunc(f.runs, code.Lo, func(r run, lo uint64) int { return cmp.Compare(r.addr+uint64(len(r.data)), lo+1) })
	at := code.Lo
	add := func(to uint64, data []byte) {
		if to > at {
			is := known || data != nil
			segs = append(segs, image.Segment{Addr: at - base, Size: to - at, Data: data, Read: is, Exec: is})
		}
		at = max(at, to)
	}
	for ; i < len(f.runs) && f.runs[i].addr < code.Hi && f.dump.room.code.Draw(1); i++ {
		r := &f.runs[i]
		end := min(r.addr+uint64(len(r.data)), code.Hi)
		if end <= at || end < r.addr {
			continue
		}
		add(r.addr, nil)
		add(end, r.data[at-r.addr:])
	}
	add(code.Hi, nil)
	return segs
}

// sorted are runs of memory by their addresses.
func sorted(runs []run) []run {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.addr, b.addr) })
	return runs
}

// borrowed is a container that others close.
type borrowed struct{ image.Container }

// Unwrap implements image.Wrapper.
func (b borrowed) Unwrap() image.Container { return b.Container }

// Close implements image.Container.
func (borrowed) Close() error { return nil }

// Hollow tells that most of the code is missing.
func (borrowed) Hollow() bool { return true }

// unnamed is a binary of which nothing is known but the dump.
type unnamed struct{}

func (unnamed) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (unnamed) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (unnamed) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (unnamed) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (unnamed) Close() error                                  { return nil }
