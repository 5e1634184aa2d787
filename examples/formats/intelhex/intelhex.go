// Package intelhex reads firmware in Intel's hexadecimal object file format, a kind of
// executable that Backsight does not know by itself. Each line is a record:
//
//	:10 0000 00 00200020F50000003500000035000000 5C
//	 │  │    │  data                             checksum: all bytes add up to 0
//	 │  │    type: 0 data, 1 end, 4 the upper half of addresses
//	 │  the lower half of the address
//	 length of data
//
// Specification: Intel, Hexadecimal Object File Format Specification, revision A, 1988.
package intelhex

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "intelhex", Sniff: sniff, Open: open}
}

func sniff(head []byte) bool { return len(head) > 0 && head[0] == ':' }

// The types of records that are read.
const (
	data  = 0
	end   = 1
	upper = 4
)

// open makes a segment of each run of data. Code and data are not told apart in such
// a file, so that all of it may be either. For which processor it is, the caller says.
func open(f *image.File, opt image.Options) (*image.Image, error) {
	if opt.Raw == nil {
		return nil, f.Errorf(0, "the processor is not stated")
	}
	var segments []image.Segment
	base, at := uint64(0), uint64(0)
	for line := range bytes.Lines(f.Data) {
		r, ok := parse(bytes.TrimRight(line, "\r\n"))
		if !ok {
			return nil, f.Errorf(at, "damaged record")
		}
		at += uint64(len(line))
		switch r.kind {
		case data:
			segments = add(segments, base+r.addr, r.data)
		case upper:
			if len(r.data) == 2 {
				base = uint64(binary.BigEndian.Uint16(r.data)) << 16
			}
		case end:
			return newImage(f, opt.Raw, segments), nil
		}
	}
	return nil, f.Errorf(at, "no end record")
}

type record struct {
	addr uint64
	kind byte
	data []byte
}

// parse reads a line.
func parse(line []byte) (r record, ok bool) {
	const head, checksum = 4, 1
	if len(line) == 0 || line[0] != ':' {
		return r, false
	}
	b, err := hex.AppendDecode(nil, line[1:])
	if err != nil || len(b) < head+checksum || len(b) != head+int(b[0])+checksum {
		return r, false
	}
	sum := byte(0)
	for _, c := range b {
		sum += c
	}
	return record{uint64(binary.BigEndian.Uint16(b[1:])), b[3], b[head : len(b)-checksum]}, sum == 0
}

// add appends data to the last segment where that ends at addr, else to a new one.
func add(segments []image.Segment, addr uint64, data []byte) []image.Segment {
	n := len(segments)
	if n == 0 || segments[n-1].Addr+segments[n-1].Size != addr {
		segments = append(segments, image.Segment{Addr: addr, Read: true, Write: true, Exec: true})
		n++
	}
	s := &segments[n-1]
	s.Data = append(s.Data, data...)
	s.Size = uint64(len(s.Data))
	return segments
}

// newImage makes the image. The bytes were decoded, so that the file need not stay open;
// there are neither sections nor symbols.
func newImage(f *image.File, arch *cpu.Arch, segments []image.Segment) *image.Image {
	return image.New(image.Header{Path: f.Name, Arch: arch, Segments: segments}, nil)
}
