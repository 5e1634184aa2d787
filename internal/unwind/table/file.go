package table

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/backsight/backsight/image"
)

// magic begins a table file; its last byte is the version.
const magic = "bsTable\x04"

// The file: a header of 80 bytes, then the parts in the order in which Table has
// them. All numbers are little-endian.
//
//	 0  magic
//	 8  CRC-32C of everything behind it
//	12  functions, rules, groups, rares, rows
//	32  base
//	40  length of the image's key, and the key
const (
	sumOffset  = 8
	keyOffset  = 40
	headerSize = 80
	maxKey     = headerSize - keyOffset - 1
)

// fail is the error of a file that is not the table of an image, whose path the caller
// knows. The file is to be made anew.
func fail(at int, reason string) error { return &image.Error{Offset: int64(at), Reason: reason} }

// Append appends the table, an image's, as a file has it.
func (t *Table) Append(b []byte, img *image.Image) []byte {
	start := len(b)
	b = append(b, magic...)
	h := &t.head
	for _, v := range []uint32{0, h.funcs, h.rules, h.groups, h.rares, h.rows} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, h.base)
	key := Key(img)
	b = append(append(b, byte(len(key))), key...)
	b = append(b, make([]byte, start+headerSize-len(b))...)
	for _, part := range t.all() {
		b = append(b, *part...)
	}
	binary.LittleEndian.PutUint32(b[start+sumOffset:], sum(b[start+sumOffset+4:]))
	return b
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Open reads a table out of a file's bytes, which it keeps. Nothing in them is taken
// on trust. The error is an *image.Error without a path.
func Open(b []byte, img *image.Image) (*Table, error) {
	if len(b) < len(magic) || string(b[:len(magic)-1]) != magic[:len(magic)-1] {
		return nil, fail(0, "not an unwind table")
	}
	if b[len(magic)-1] != magic[len(magic)-1] {
		return nil, fail(len(magic)-1, fmt.Sprintf("an unwind table of version %d; this is version %d", b[len(magic)-1], magic[len(magic)-1]))
	}
	if len(b) < headerSize {
		return nil, fail(len(b), "the header is cut short")
	}
	t := &Table{arch: img.Arch, head: header{
		funcs: uint32(u32(b, 3)), rules: uint32(u32(b, 4)), groups: uint32(u32(b, 5)), rares: uint32(u32(b, 6)), rows: uint32(u32(b, 7)),
		base: binary.LittleEndian.Uint64(b[32:]),
	}}
	if err := t.split(b[headerSize:]); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(b[sumOffset:]) != sum(b[sumOffset+4:]) {
		return nil, fail(sumOffset, "the checksum is wrong: the file is damaged")
	}
	key := b[keyOffset+1 : min(headerSize, keyOffset+1+int(b[keyOffset]))]
	if string(key) != string(Key(img)) {
		return nil, fail(keyOffset, fmt.Sprintf("the table of another file, build ID or digest %x", key))
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, nil
}

// split cuts the parts.
func (t *Table) split(b []byte) error {
	at := headerSize
	for i, size := range t.head.sizes() {
		if size > uint64(len(b)) {
			return fail(at+len(b), "the file is cut short")
		}
		*t.all()[i], b = b[:size:size], b[size:]
		at += int(size)
	}
	if len(b) > 0 {
		return fail(at, "more than the header says")
	}
	return nil
}

// check makes sure that groups and pages stay within the rows.
func (t *Table) check() error {
	at := headerSize + len(t.rules) + len(t.origins)
	for g := range int(t.head.groups) {
		n := u32(t.groups, 2*g+3) - u32(t.groups, 2*g+1)
		if n < 0 || g > 0 && u32(t.groups, 2*g) <= u32(t.groups, 2*g-2) || !t.ascend(g, n) {
			return fail(at+8*g, "rows out of order")
		}
	}
	if u32(t.groups, 2*int(t.head.groups)+1) != int(t.head.rows) {
		return fail(at+len(t.groups)-4, "rows beyond the last")
	}
	return nil
}

// ascend tells whether the pages of a group of n rows do.
func (t *Table) ascend(g, n int) bool {
	last := 0
	for p := g * pages; p < (g+1)*pages; p++ {
		if t.before(p) < last || t.before(p) > n {
			return false
		}
		last = t.before(p)
	}
	return true
}
