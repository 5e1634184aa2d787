package table

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/backsight/backsight/image"
)

// The file: a header of 80 bytes, then the parts in the order in which Table has
// them. All numbers are little-endian.
//
//	 0  magic, the last byte is the version
//	 8  CRC-32C of everything behind it
//	12  functions, rules, pages, rares, rows
//	32  base
//	40  length of the build ID, and its first 39 bytes
const (
	magic      = "bsTable\x01"
	headerSize = 80
	maxID      = headerSize - 41
)

// Errors of Open: the file is to be made anew.
var (
	ErrNotATable = errors.New("not an unwind table of this version")
	ErrDamaged   = errors.New("the unwind table is damaged")
	ErrOtherFile = errors.New("the unwind table is of another build")
	// ErrNoBuildID: without a build ID nothing tells whose table a file is.
	ErrNoBuildID = errors.New("the image has no build ID")
)

func (h *header) size() uint64 {
	return 16*uint64(h.rules) + 4*(uint64(h.pages)+1) + 8*uint64(h.rares) + 3*uint64(h.rows)
}

// Append appends the table as a file has it.
func (t *Table) Append(b []byte, img *image.Image) ([]byte, error) {
	if len(img.BuildID) == 0 {
		return b, ErrNoBuildID
	}
	start := len(b)
	b = append(b, magic...)
	h := &t.head
	for _, v := range []uint32{0, h.funcs, h.rules, h.pages, h.rares, h.rows} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, h.base)
	id := key(img)
	b = append(append(b, byte(len(id))), id...)
	b = append(b, make([]byte, start+headerSize-len(b))...)
	for _, part := range [][]byte{t.rules, t.pages, t.rares, t.lows, t.kinds} {
		b = append(b, part...)
	}
	binary.LittleEndian.PutUint32(b[start+8:], sum(b[start+12:]))
	return b, nil
}

func key(img *image.Image) []byte { return img.BuildID[:min(len(img.BuildID), maxID)] }

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Open reads a table out of a file's bytes, which it keeps. Nothing in them is taken
// on trust.
func Open(b []byte, img *image.Image) (*Table, error) {
	if len(b) < headerSize || string(b[:8]) != magic {
		return nil, ErrNotATable
	}
	if binary.LittleEndian.Uint32(b[8:]) != sum(b[12:]) {
		return nil, ErrDamaged
	}
	id := b[41:min(headerSize, 41+int(b[40]))]
	if len(id) == 0 || string(id) != string(key(img)) {
		return nil, ErrOtherFile
	}
	t := &Table{arch: img.Arch, head: header{
		funcs: uint32(u32(b, 3)), rules: uint32(u32(b, 4)), pages: uint32(u32(b, 5)), rares: uint32(u32(b, 6)), rows: uint32(u32(b, 7)),
		base: binary.LittleEndian.Uint64(b[32:]),
	}}
	if !t.split(b[headerSize:]) {
		return nil, ErrDamaged
	}
	return t, nil
}

// split cuts the parts and checks that the pages stay within the rows.
func (t *Table) split(b []byte) bool {
	h := &t.head
	if uint64(len(b)) != h.size() {
		return false
	}
	cut := func(n int) (part []byte) {
		part, b = b[:n:n], b[n:]
		return part
	}
	t.rules, t.pages, t.rares = cut(16*int(h.rules)), cut(4*(int(h.pages)+1)), cut(8*int(h.rares))
	t.lows, t.kinds = cut(2*int(h.rows)), cut(int(h.rows))
	for i := range int(h.pages) {
		if u32(t.pages, i) > u32(t.pages, i+1) {
			return false
		}
	}
	return u32(t.pages, int(h.pages)) <= int(h.rows)
}
