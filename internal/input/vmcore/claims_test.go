package vmcore

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/input"
)

// TestKdumpClaims: a dump shows no more memory, and in no more runs, than a file of its size can hold.
func TestKdumpClaims(t *testing.T) {
	const block, pages = 64 << 10, 1 << 20
	le := binary.LittleEndian
	for name, bits := range map[string]byte{"each second page": 0x55, "all pages": 0xff} {
		head := make([]byte, 2*block)
		copy(head, "KDUMP   ")
		le.PutUint32(head[8:], 6)
		copy(head[12+4*65:], "x86_64")
		le.PutUint32(head[428:], block)
		le.PutUint32(head[432:], 1)
		le.PutUint32(head[436:], 2*pages/8/block)
		bitmap := bytes.Repeat([]byte{bits}, pages/8)
		dump := slices.Concat(head, bitmap, bitmap)
		d, err := readKdump(t.Context(), "dump", input.PagesOf(dump), nil)
		if err != nil {
			t.Fatal(err)
		}
		segments, size := d.physical.Segments(), uint64(0)
		for i := range segments {
			size += segments[i].Size()
		}
		if most := 4096 + len(dump)/8; len(segments) > most || size > 1<<30 || len(d.issues) != 1 {
			t.Errorf("%s: %d bytes of a dump show %d in %d runs, %v", name, len(dump), size, len(segments), d.issues)
		}
	}
}
