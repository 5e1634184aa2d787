package unwind

import (
	"encoding/binary"
	"math/bits"

	"github.com/backsight/backsight/target"
)

// window is the captured stack from some address on, for reading saved registers
// without looking for the segment each time.
type window struct {
	data []byte
	addr uint64
	room uint64 // at offsets below room, data has eight bytes
	// One read of eight bytes serves every width and byte order.
	swap  bool
	shift uint8
	mask  uint64
	size  int
	mem   *target.Memory
}

// open moves the window to the memory at addr, words as snap's ABI saves them.
func (v *window) open(snap *target.Snapshot, addr uint64) {
	size := snap.Arch.RegSize
	*v = window{data: snap.Memory.Bytes(addr), addr: addr, mem: snap.Memory, size: size, mask: ^uint64(0) >> (64 - 8*size)}
	if len(v.data) >= 8 {
		v.room = uint64(len(v.data)) - 7
	}
	if snap.Arch.BigEndian {
		v.swap, v.shift = true, uint8(64-8*size)
	}
}

// inWindow reads a saved word, if all of its bytes lie in the window.
func (v *window) inWindow(addr uint64) (uint64, bool) {
	off := addr - v.addr
	if off >= v.room {
		return 0, false
	}
	x := binary.LittleEndian.Uint64(v.data[off:])
	if v.swap {
		x = bits.ReverseBytes64(x)
	}
	return x >> (v.shift & 63) & v.mask, true
}

// word reads a saved word, wherever it was captured.
func (v *window) word(addr uint64) (uint64, bool) {
	if x, ok := v.inWindow(addr); ok {
		return x, ok
	}
	return v.mem.Uint(addr, v.size)
}
