package zram

import (
	"bytes"
	"errors"

	"github.com/backsight/backsight/internal/unpack"
)

const (
	// sizeBits are those of an entry's flags that say how large its object is: as many as a page's size needs, or 24, until Linux 6.0.
	sizeBits = 13
	// scanned is how many entries of a table are looked at, samples how many of them are looked up to find how a table is laid out, and
	// fewest how many must be found.
	scanned, samples, fewest = 1 << 16, 256, 4
	// classStep is the step of the sizes that objects have room for (mm/zsmalloc.c, ZS_SIZE_CLASS_DELTA).
	classStep = pageSize >> 8
	// allocated marks the handle in front of an object (OBJ_ALLOCATED_TAG).
	allocated = 1
)

// findTable finds how large an entry of a disk's table is, and how a handle leads to a page: as most of what is compressed is found. A part
// of an entry's size finds as much as the size itself.
func (s *Swap) findTable(d *disk) bool {
	best := fewest
	for _, words := range [...]uint64{2, 3, 4, 6} {
		try := *d
		try.stride = words * s.word
		if n := s.countObjects(&try); n >= best {
			best, *d = n, try
		}
	}
	return d.stride != 0
}

// countObjects tells how many objects a table's entries lead to, and sets by which shift. 0 where one of ten is not found.
func (s *Swap) countObjects(d *disk) (best int) {
	var handles []uint64
	entries := uint64(scanned) * 2 * s.word / d.stride // the same memory, whatever an entry's size is
	stored := 0
	for i := range entries {
		if _, ok := s.Memory.Word(d.table + i*d.stride); !ok || !s.work.Draw(1) {
			break // nothing is mapped behind a table (vmalloc)
		}
		handle, size := s.entry(d, i)
		if !s.isKernel(handle) || size == 0 || size >= pageSize {
			continue
		}
		if stored++; len(handles) < samples {
			handles = append(handles, handle)
		}
	}
	for shift := uint(4); shift < 32; shift++ {
		try := *d
		try.shift = shift
		n := 0
		for i, handle := range handles {
			if !s.work.Draw(pageSize / classStep) {
				return 0
			}
			if _, _, err := s.object(&try, handle); err == nil {
				n++
			}
			if i == fewest && n == 0 {
				break
			}
		}
		if n > best && n*10 >= len(handles)*9 {
			best, d.shift = n, shift
		}
	}
	if best == 0 {
		return 0
	}
	return stored
}

// entry is what a table has for a page: its handle, or the word that it consists of, and the object's size.
func (s *Swap) entry(d *disk, i uint64) (handle, size uint64) {
	at := d.table + i*d.stride
	return s.at(at), s.flags(d, i) & (1<<sizeBits - 1)
}

// flags has an object's size in its lowest bits. They have four bytes since Linux 6.10, behind which a lock is.
func (s *Swap) flags(d *disk, i uint64) uint64 {
	flags, _ := s.Memory.Uint(d.table+i*d.stride+s.word, int(s.word))
	return flags & (1<<32 - 1)
}

// used tells whether a table has something for a page. No device has more pages than its bytes can be counted.
func (s *Swap) used(d *disk, i uint64) bool {
	return i < 1<<(8*s.word-8) && (s.at(d.table+i*d.stride) != 0 || s.flags(d, i) != 0)
}

var (
	errUnused  = errors.New("the device has not got it")
	errNowhere = errors.New("it is not where the device's table says")
	errRest    = errors.New("where it goes on is not known")
	errFilled  = errors.New("it was filled with one word, or written to a disk")
	errCodec   = errors.New("it is compressed in a way that is not read")
)

// slot reads a page of a device.
func (s *Swap) slot(d *disk, i uint64, page *[pageSize]byte) error {
	if !s.used(d, i) {
		return errUnused
	}
	handle, size := s.entry(d, i)
	switch {
	case size == 0 && handle == 0:
		*page = [pageSize]byte{}
		return nil
	case size == 0:
		return errFilled
	case !s.isKernel(handle) || size > pageSize:
		return errNowhere
	case size == pageSize:
		return s.whole(d, handle, page)
	}
	packed, err := s.packed(d, handle, size)
	if err != nil {
		return err
	}
	return expand(packed, page)
}

// pageOf is the physical address of the page that a handle leads to.
func (s *Swap) pageOf(d *disk, handle uint64) uint64 { return s.at(handle) >> d.shift * pageSize }

// object finds the object of a handle: where in its page the handle stands, once.
func (s *Swap) object(d *disk, handle uint64) (pa, offset uint64, err error) {
	var page [pageSize]byte
	pa = s.pageOf(d, handle)
	if s.Physical.Read(pa, page[:]) < pageSize {
		return 0, 0, errNowhere
	}
	found := false
	for at := uint64(0); at < pageSize; at += classStep {
		if s.number(page[at:]) != handle|allocated {
			continue
		}
		if found {
			return 0, 0, errNowhere
		}
		found, offset = true, at
	}
	if !found {
		return 0, 0, errNowhere
	}
	return pa, offset, nil
}

// number decodes a word.
func (s *Swap) number(b []byte) (v uint64) {
	for i := range s.word {
		if s.Arch.BigEndian {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// packed are the bytes of an object.
func (s *Swap) packed(d *disk, handle, size uint64) ([]byte, error) {
	pa, offset, err := s.object(d, handle)
	if err != nil {
		return nil, err
	}
	packed := make([]byte, size)
	offset += s.word
	here := min(size, pageSize-offset)
	s.Physical.Read(pa+offset, packed[:here])
	if here == size {
		return packed, nil
	}
	next, ok := s.next(pa)
	if !ok || s.Physical.Read(next, packed[here:]) < int(size-here) {
		return nil, errRest
	}
	return packed, nil
}

// struct page (include/linux/mm_types.h): flags, two pointers, mapping, index, private. Pages that have their objects together lead to the next one
// by index, and to what they are a part of by private.
const indexAt, privateAt = 4, 5

// structOf is the address of the struct page of a physical page, 0 where that is not known.
func (s *Swap) structOf(pa uint64) uint64 {
	if s.PageSize == 0 || s.PageSize%s.word != 0 {
		return 0
	}
	return (s.Pages + pa/pageSize*s.PageSize) & s.Arch.AddrMask()
}

// next is the physical address of the page that goes on with the objects of another one.
func (s *Swap) next(pa uint64) (uint64, bool) {
	own := s.structOf(pa)
	if own == 0 {
		return 0, false
	}
	other := s.at(own + indexAt*s.word)
	distance := (other - s.Pages) & s.Arch.AddrMask()
	if zspage := s.at(own + privateAt*s.word); !s.isKernel(other) || distance%s.PageSize != 0 || !s.isKernel(zspage) || s.at(other+privateAt*s.word) != zspage {
		return 0, false
	}
	return distance / s.PageSize * pageSize, true
}

// whole reads a page that did not become smaller: it has a page of its own, whose struct page has the handle.
func (s *Swap) whole(d *disk, handle uint64, page *[pageSize]byte) error {
	pa := s.pageOf(d, handle)
	own := s.structOf(pa)
	if own == 0 {
		return errRest
	}
	if s.at(own+indexAt*s.word)|allocated != handle|allocated || s.Physical.Read(pa, page[:]) < pageSize {
		return errNowhere
	}
	return nil
}

// expand decompresses an object. Which of the compressions of Linux it is in is told by its bytes: one alone makes a page of all of them.
func expand(packed []byte, page *[pageSize]byte) error {
	n := 0
	keep := func(data []byte, err error) {
		if err == nil && len(data) == pageSize {
			n++
			copy(page[:], data)
		}
	}
	if f, ok := unpack.Recognise(packed); ok && f.Name == "zstd" {
		keep(f.Unpack(packed, pageSize))
	}
	if bytes.HasSuffix(packed, []byte{0x11, 0, 0}) { // what ends LZO's stream
		keep(unpack.LZO(packed, pageSize))
	}
	keep(unpack.LZ4(packed, pageSize))
	if n != 1 {
		return errCodec
	}
	return nil
}
