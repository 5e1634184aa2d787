package target

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzBuilder: of runs that overlap, the later ones have their bytes, wherever they lie, and nothing lies elsewhere.
func FuzzBuilder(f *testing.F) {
	run := func(addr uint64, size, zero uint16) []byte {
		b := binary.LittleEndian.AppendUint64(nil, addr)
		return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, size), zero)
	}
	f.Add(bytes.Join([][]byte{run(0x1000, 16, 0), run(0x1008, 16, 8), run(0xff8, 4, 32)}, nil))
	f.Add(bytes.Join([][]byte{run(^uint64(0)-7, 16, 0), run(^uint64(0)-15, 4, 100), run(0, 8, 0)}, nil))
	f.Fuzz(func(t *testing.T, runs []byte) {
		const runSize, most = 12, 64
		var b Builder
		want := make(map[uint64]byte)
		for i := byte(1); len(runs) >= runSize && i < most; i, runs = i+1, runs[runSize:] {
			addr := binary.LittleEndian.Uint64(runs)
			size, zero := uint64(binary.LittleEndian.Uint16(runs[8:])%512), uint64(binary.LittleEndian.Uint16(runs[10:])%512)
			b.Add(addr, bytes.Repeat([]byte{i}, int(size)), zero, PermRead)
			for off := range min(size+zero, ^addr) {
				want[addr+off] = 0
				if off < size {
					want[addr+off] = i
				}
			}
		}
		m := b.Memory(little64)
		for addr, v := range want {
			if got, ok := m.Uint(addr, 1); !ok || got != uint64(v) || !m.RangeAt(addr).Contains(addr) {
				t.Fatalf("%#x: %#x, %t, in %#x; want %#x", addr, got, ok, m.RangeAt(addr), v)
			}
		}
		total, last := uint64(0), uint64(0)
		for i := range m.Segments() {
			s := &m.Segments()[i]
			if s.Size() == 0 || s.Addr < last {
				t.Fatalf("%d bytes at %#x, behind %#x", s.Size(), s.Addr, last)
			}
			total, last = total+s.Size(), s.Addr+s.Size()
		}
		if total != uint64(len(want)) {
			t.Errorf("%d bytes, want %d", total, len(want))
		}
	})
}
