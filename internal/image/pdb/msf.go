package pdb

import (
	"bytes"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// magic begins a multi-stream file (LLVM, "The MSF File Format").
const magic = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00"

// Sizes of blocks that the format allows; linkers of large programs write 8192 and more.
const minBlock, maxBlock = 512, 65536

// none is the size of a stream that there is not, noStream the number of one.
const none, noStream = 1<<32 - 1, 1<<16 - 1

// streams are the parts that a file is divided into, each a list of blocks.
//
//	superblock: size of blocks, where the directory's blocks are listed
//	directory:  number of streams, their sizes, their blocks
type streams struct {
	in     *image.File
	block  uint64
	sizes  []uint32
	blocks []byte   // of all streams, 4 bytes each
	first  []uint32 // of each stream: the number of its first in blocks
}

// readStreams reads the superblock and the directory.
func readStreams(in *image.File) (*streams, error) {
	s := &streams{in: in}
	r := bin.NewAt(in.Data, uint64(len(magic)), false)
	s.block = uint64(r.U32())
	r.Skip(8) // map of free blocks, number of blocks
	size := r.U32()
	r.Skip(4)
	list := uint64(r.U32())
	if r.Err() != nil || s.block < minBlock || s.block > maxBlock || s.block&(s.block-1) != 0 {
		return nil, in.Errorf(uint64(len(magic)), "the superblock is broken")
	}
	if uint64(size) > uint64(len(in.Data)) {
		return nil, in.Errorf(uint64(len(magic))+12, "a directory of %d bytes is larger than the file", size)
	}
	where := bin.NewAt(in.Data, list*s.block, false)
	directory := s.gather(where.Bytes((uint64(size)+s.block-1)/s.block*4), uint64(size))
	if directory == nil {
		return nil, in.Errorf(list*s.block, "the directory's blocks lie beyond the end of the file")
	}
	s.readDirectory(directory)
	return s, nil
}

// readDirectory notes where each stream lies. No two streams share a block, so that all are as large as the file at most; what is
// beyond twice that is left out.
func (s *streams) readDirectory(directory []byte) {
	r := bin.New(directory, false)
	n := bin.Limit(uint64(r.U32()), r.Len()/4)
	next := uint32(0)
	for range n {
		size := r.U32()
		if size == none {
			size = 0
		}
		if (uint64(next)*s.block+uint64(size))/2 > uint64(len(s.in.Data)) {
			break
		}
		s.sizes, s.first = append(s.sizes, size), append(s.first, next)
		next += uint32((uint64(size) + s.block - 1) / s.block)
	}
	s.blocks = directory[min(len(directory), 4+4*n):]
}

// stream is the bytes of a stream, nil where there is none, or where the stream is not whole.
func (s *streams) stream(n int) []byte {
	if n < 0 || n >= len(s.sizes) || s.sizes[n] == 0 {
		return nil
	}
	size := uint64(s.sizes[n])
	r := bin.NewAt(s.blocks, uint64(s.first[n])*4, false)
	return s.gather(r.Bytes((size+s.block-1)/s.block*4), size)
}

// gather joins blocks. Blocks that follow one another in the file, as most do, are not copied. A stream is not larger than the
// file: no two of its blocks are one.
func (s *streams) gather(blocks []byte, size uint64) []byte {
	if blocks == nil || size > uint64(len(s.in.Data)) {
		return nil
	}
	r := bin.New(blocks, false)
	begin := uint64(r.U32())
	for next := begin + 1; r.Len() > 0; next++ {
		if uint64(r.U32()) != next {
			return s.join(blocks, size)
		}
	}
	whole := bin.NewAt(s.in.Data, begin*s.block, false)
	return whole.Bytes(size)
}

func (s *streams) join(blocks []byte, size uint64) []byte {
	out := make([]byte, 0, size)
	for r := bin.New(blocks, false); r.Len() > 0; {
		b := bin.NewAt(s.in.Data, uint64(r.U32())*s.block, false)
		part := b.Bytes(min(s.block, size-uint64(len(out))))
		if part == nil {
			return nil
		}
		out = append(out, part...)
	}
	return out
}

// named is the number of a stream that has a name, by the table in the info stream behind its header: the names, how many there are, which
// slots of a hash table are filled and which were, and of each filled slot the name's place and the stream.
func named(info []byte, name string) int {
	r := bin.NewAt(info, infoHeader, false)
	names := r.Bytes(uint64(r.U32()))
	count := r.U32()
	r.Skip(4) // slots
	r.Skip(4 * uint64(r.U32()))
	r.Skip(4 * uint64(r.U32()))
	for range count {
		at, stream := r.U32(), r.U32()
		if r.Err() != nil {
			break
		}
		if text, _, _ := bytes.Cut(names[min(uint64(at), uint64(len(names))):], []byte{0}); string(text) == name {
			return int(stream)
		}
	}
	return noStream
}
