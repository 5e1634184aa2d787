package device

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/backsight/backsight/image"
)

// Bundle is the tables of many programs in one file, which device/ports/linux/tables.c reads in place:
//
//	 0  "bsT", version
//	 4  number of tables (32 bits, as all numbers), 8 size of the file, 12 filler
//	16  entries by key, 16 bytes each: key, 8 bytes; where the table begins; its size
//	    the tables, each at a multiple of 16
//
// The key is the first bytes of the build ID, behind which zeros stand; of a program without one, the CRC-32 and the size of the first
// executable segment as the file has it.
type Bundle struct {
	entries []entry
	size    int
}

type entry struct {
	key   [8]byte
	table []byte
}

const bundleHead, bundleEntry, bundleAlign = 16, 16, 16

// Add adds the table of a program, unless it is there. The error says that the file would be too large.
func (b *Bundle) Add(img *image.Image, table []byte) error {
	e := entry{keyOf(img), table}
	i, found := slices.BinarySearchFunc(b.entries, e, func(a, b entry) int { return bytes.Compare(a.key[:], b.key[:]) })
	if found {
		return nil
	}
	size := b.size + bundleEntry + len(table) + bundleAlign
	if size > math.MaxInt32-bundleHead {
		return errors.New("more than 2 GB of tables")
	}
	b.size = size
	b.entries = slices.Insert(b.entries, i, e)
	return nil
}

// Len is how many tables there are.
func (b *Bundle) Len() int { return len(b.entries) }

// WriteTo writes the file.
func (b *Bundle) WriteTo(w io.Writer) (int64, error) {
	head := make([]byte, bundleHead, bundleHead+len(b.entries)*bundleEntry)
	copy(head, "bsT\x01")
	binary.LittleEndian.PutUint32(head[4:], uint32(len(b.entries)))
	at := cap(head)
	for _, e := range b.entries {
		head = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(append(head, e.key[:]...), uint32(at)), uint32(len(e.table)))
		at = roundUp(at + len(e.table))
	}
	binary.LittleEndian.PutUint32(head[8:], uint32(at))
	n, err := w.Write(head)
	written := int64(n)
	for _, e := range b.entries {
		if err == nil {
			n, err = w.Write(append(e.table, make([]byte, roundUp(len(e.table))-len(e.table))...))
			written += int64(n)
		}
	}
	return written, err
}

func roundUp(n int) int { return (n + bundleAlign - 1) &^ (bundleAlign - 1) }

// keyOf is what a program's table is found by.
func keyOf(img *image.Image) (key [8]byte) {
	if copy(key[:], img.BuildID) > 0 {
		return key
	}
	for i := range img.Segments {
		if s := &img.Segments[i]; s.Exec {
			binary.LittleEndian.PutUint32(key[:], crc32.ChecksumIEEE(s.Data))
			binary.LittleEndian.PutUint32(key[4:], uint32(len(s.Data)))
			break
		}
	}
	return key
}
