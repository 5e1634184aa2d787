// Package flat opens raw firmware: the bytes of a flash or RAM chip, with no
// headers, no symbols and nothing but a processor that the user knows.
package flat

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Format describes this package to image.Open. It takes every file, so that it comes
// last; a file is refused unless image.Options.Raw says for which processor it is.
func Format() image.Format {
	return image.Format{Name: "flat", Sniff: func([]byte) bool { return true }, Open: open}
}

// open makes one segment of the file, from image address 0 on, so that the load bias
// is where the file lies. Everything may be code and everything may be data, so the
// segment has all rights. Where the file would reach past the last address of the
// processor it is cut.
func open(f *image.File, opt image.Options) (*image.Image, error) {
	if opt.Raw == nil {
		return nil, f.Errorf(0, "unrecognised file; one without headers needs its processor to be stated")
	}
	data := f.Data
	if last := opt.Raw.AddrMask(); uint64(len(data)) > last {
		data = data[:last]
	}
	return image.New(image.Header{
		Path: f.Name, Arch: opt.Raw,
		Segments: []image.Segment{{
			Size: uint64(len(data)), Data: data, Read: true, Write: true, Exec: true,
		}},
	}, container{f}), nil
}

// container is that of a file without sections and symbols.
type container struct{ file *image.File }

func (container) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (container) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (container) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (container) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (c container) Files() []*image.File                        { return []*image.File{c.file} }
func (c container) Close() error                                { return c.file.Close() }
