// Package flat opens raw firmware: the bytes of a flash or RAM chip, with no headers, no
// symbols and nothing but a processor that the user knows. They come as they are, or as
// text with addresses (Intel HEX, S-records, TI-TXT).
package flat

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/hexfile"
)

// Format describes this package to image.Open. It takes every file, so that it comes
// last; a file is refused unless image.Options.Raw says for which processor it is.
func Format() image.Format {
	return image.Format{Name: "flat", Sniff: func([]byte) bool { return true }, Open: open}
}

// open makes one segment of the file, from image address 0 on, so that the load bias is
// where the file lies; of text with addresses a segment for each run, at the image address
// that the text states. Everything may be code and everything may be data, so the segments
// have all rights. Where the file would reach past the last address of the processor it is
// cut.
func open(f *image.File, opt image.Options) (*image.Image, error) {
	if opt.Raw == nil {
		return nil, f.Errorf(0, "not a known kind of binary; code without headers needs its processor to be stated (--arch)")
	}
	h := image.Header{Path: f.Name}
	runs := []hexfile.Run{{Data: f.Data}}
	if hexfile.Sniff(f.Data[:min(len(f.Data), image.HeadSize)]) {
		m, err := hexfile.Parse(f.Data)
		if err != nil {
			return nil, &image.Error{Path: f.Name, Reason: "no firmware in it", Err: err}
		}
		runs, h.Entry, h.Issues = m.Runs, m.Entry, named(f.Name, m.Issues)
	}
	h.Arch = profile(opt, runs)
	for _, r := range runs {
		h.Segments = append(h.Segments, segment(r, h.Arch.AddrMask()))
	}
	return image.New(h, container{f}), nil
}

func segment(r hexfile.Run, last uint64) image.Segment {
	r.Addr = min(r.Addr, last)
	data := r.Data[:min(uint64(len(r.Data)), last-r.Addr)]
	return image.Segment{Addr: r.Addr, Size: uint64(len(data)), Data: data, Read: true, Write: true, Exec: true}
}

// named puts the file's name before each issue.
func named(name string, issues []string) (out []string) {
	for _, text := range issues {
		out = append(out, name+": "+text)
	}
	return out
}

// profile is the processor that the user stated or, where that leaves the ABI open and the
// firmware begins with a vector table of ARM's microcontroller profile, that profile's: it
// knows Thumb only, and takes exceptions in its own way.
func profile(opt image.Options, runs []hexfile.Run) *cpu.Arch {
	raw := opt.Raw
	if raw.ABI != "" || !raw.ISABit || raw.ModeOnly {
		return raw
	}
	for _, a := range opt.Archs {
		if a.Name != raw.Name || !a.ModeOnly || a.BigEndian != raw.BigEndian {
			continue
		}
		for _, r := range runs {
			if vectorTable(r.Data) {
				return a
			}
		}
	}
	return raw
}

// vectorTable tells whether data begins with the vector table of ARMv6-M to ARMv8-M (DDI
// 0403, B1.5.3): the initial stack pointer, in RAM, and the addresses of the handlers for
// reset, NMI and HardFault, each with the bit that says Thumb, and no further apart than the
// data is long. Words of A32 code, which the other profiles begin with, are even where they
// are branches.
func vectorTable(data []byte) bool {
	if len(data) < 4*4 {
		return false
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }
	sp := word(0)
	if sp%4 != 0 || sp < 0x1000_0000 || sp > 0x4000_0000 {
		return false
	}
	lo, hi := word(1), word(1)
	for i := 1; i <= 3; i++ {
		w := word(i)
		if w&1 == 0 {
			return false
		}
		lo, hi = min(lo, w), max(hi, w)
	}
	return hi-lo < uint32(min(uint64(len(data)), 1<<28))
}

// container is that of a file without sections and symbols.
type container struct{ file *image.File }

func (container) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (container) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (container) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (container) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (c container) Files() []*image.File                        { return []*image.File{c.file} }
func (c container) Close() error                                { return c.file.Close() }
