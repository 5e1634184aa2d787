package mcudump

import (
	"bytes"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
)

// ProbeRS is the format of the core dumps that probe-rs writes of a halted processor (probe-rs, src/core/dump.rs): registers by
// the numbers that probes have for them, and pieces of memory, as MessagePack.
func ProbeRS() input.Format {
	return input.Format{Name: "probe-rs", Sniff: sniffProbe, Open: opener(readProbe)}
}

// sniffProbe: a map of a few pairs, whose first key is a field of probe-rs's struct CoreDump.
func sniffProbe(head []byte) bool {
	const most = 15
	if len(head) < 2 || head[0] < fixMap || head[0] > fixMap+most {
		return false
	}
	for _, key := range [...]string{"registers", "data", "instruction_set", "core_type"} {
		if bytes.HasPrefix(head[1:], append([]byte{byte(fixStr + len(key))}, key...)) {
			return true
		}
	}
	return false
}

// The most registers and pieces of memory of a dump.
const maxRegisters, maxPieces = 1024, 1 << 16

// readProbe reads a dump as far as it is whole.
func readProbe(data []byte) (d dump) {
	in := decoder{bin.New(data, true)}
	in.each(func() {
		switch in.text() {
		case "registers":
			in.each(func() {
				number, _ := in.number()
				if v, ok := wrapped(&in); ok && len(d.regs) < maxRegisters {
					d.regs = append(d.regs, register{number, v})
				}
			})
		case "data":
			in.each(func() {
				lo, hi := span(&in)
				if b := in.bytes(); lo < hi && len(d.pieces) < maxPieces {
					d.pieces = append(d.pieces, piece{lo, b[:min(uint64(len(b)), hi-lo)]})
				}
			})
		case "instruction_set":
			d.set = in.text()
		default:
			in.skip(0)
		}
	})
	d.end = in.Offset()
	return d
}

// wrapped reads a value by its type: {"U32": 5}. Vector registers, U128, are left out.
func wrapped(in *decoder) (v uint64, ok bool) {
	in.each(func() {
		if name := in.text(); name == "U32" || name == "U64" {
			n, err := in.number()
			v, ok = n, err == nil
		} else {
			in.skip(0)
		}
	})
	return v, ok
}

// span reads the range of addresses of a piece: {"start": 0, "end": 4}.
func span(in *decoder) (lo, hi uint64) {
	in.each(func() {
		key := in.text()
		v, _ := in.number()
		switch key {
		case "start":
			lo = v
		case "end":
			hi = v
		}
	})
	return lo, hi
}
