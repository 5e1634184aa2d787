// Package flat opens raw firmware: the bytes of a flash or RAM chip, with no
// headers, no symbols and nothing but an address that the user knows.
package flat

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Open maps the file as one segment at an image address. Everything may be code
// and everything may be data, so the segment has all rights. Where the file
// would reach past the last address of the processor it is cut. The error is an
// *image.Error or of package os.
func Open(path string, arch *cpu.Arch, addr uint64) (*image.Image, error) {
	if addr > arch.AddrMask() {
		return nil, &image.Error{Path: path, Reason: "load address beyond the processor's addresses"}
	}
	data, release, err := image.Map(path, "")
	if err != nil {
		return nil, err
	}
	if room := arch.AddrMask() - addr; uint64(len(data)) > room && room+1 != 0 {
		data = data[:min(uint64(len(data)), room+1)]
	}
	return image.New(image.Header{
		Path: path, Arch: arch,
		Segments: []image.Segment{{
			Addr: addr, Size: uint64(len(data)), Data: data, Read: true, Write: true, Exec: true,
		}},
	}, mapped(release)), nil
}

// mapped is a container of nothing but the mapping's release.
type mapped func() error

func (m mapped) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (m mapped) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (m mapped) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (m mapped) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (m mapped) Close() error                                  { return m() }
