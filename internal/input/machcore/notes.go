package machcore

import (
	"bytes"

	"github.com/backsight/backsight/internal/bin"
)

// Owners of the notes that are read (lldb's ObjectFileMachO.cpp has their layouts; xnu and the
// debugger write them).
const (
	noteAddrBits = "addrable bits"
	noteImages   = "all image infos"
	noteMain     = "main bin spec"
)

// located is an image by where its mach header lies.
type located struct {
	header uint64
	name   string
	uuid   []byte
}

// codeMask is how many bits addresses have: of user space, where the note tells both halves.
func (c *core) codeMask() uint64 {
	for _, n := range c.commands.notes {
		if n.owner != noteAddrBits {
			continue
		}
		r := bin.New(n.data, c.header.big)
		if version, bits := r.U32(), r.U32(); r.Err() == nil && version >= 3 && bits > 0 && bits < 64 {
			return 1<<bits - 1
		}
	}
	return 0
}

// noted are the images that notes list.
func (c *core) noted() (list []located) {
	for _, n := range c.commands.notes {
		if len(list) >= maxImages { // notes may all show one table
			break
		}
		switch n.owner {
		case noteImages:
			list = append(list, c.imageInfos(n.data)...)
		case noteMain:
			r := bin.New(n.data, c.header.big)
			version := r.U32()
			r.Skip(4) // type
			at := r.U64()
			if version >= 2 {
				r.Skip(8) // slide
			}
			if id := r.Bytes(16); r.Err() == nil && at != ^uint64(0) {
				list = append(list, located{header: at, uuid: known(id)})
			}
		}
	}
	return list
}

// imageEntry is the size of an entry of "all image infos".
const imageEntry = 48

// imageInfos reads "all image infos": version, count, where the entries are in the file, their
// size.
func (c *core) imageInfos(data []byte) (list []located) {
	r := bin.New(data, c.header.big)
	version, count, at, size := r.U32(), r.U32(), r.U64(), uint64(r.U32())
	if r.Err() != nil || version != 1 || size < imageEntry {
		return nil
	}
	for i := range min(uint64(count), maxImages) {
		e := bin.NewAt(c.data, at+i*size, c.header.big)
		path, id, header := e.U64(), e.Bytes(16), e.U64()
		if e.Err() != nil {
			break
		}
		list = append(list, located{header: header, name: c.fileString(path), uuid: known(id)})
	}
	return list
}

// maxString bounds paths: PATH_MAX of Darwin.
const maxString = 1024

// fileString is the string at an offset of the core, "" for none.
func (c *core) fileString(off uint64) string {
	if off == 0 || off >= uint64(len(c.data)) {
		return ""
	}
	b := c.data[off:]
	b = b[:min(len(b), maxString)]
	return string(b[:max(bytes.IndexByte(b, 0), 0)])
}

// known is a UUID, nil where it is all zeros.
func known(id []byte) []byte {
	if len(bytes.Trim(id, "\x00")) == 0 {
		return nil
	}
	return bytes.Clone(id)
}
