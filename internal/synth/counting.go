package synth

import (
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
)

// Counting is the processor with a decoder that counts the instructions decoded. They
// are a measure of an analysis's work that is the same on every machine, busy or not.
func Counting(a *cpu.Arch) (*cpu.Arch, *atomic.Int64) {
	counted, n := *a, new(atomic.Int64)
	counted.Decoder = counting{a.Decoder, n}
	return &counted, n
}

type counting struct {
	cpu.Decoder
	decoded *atomic.Int64
}

// Decode implements cpu.Decoder.
func (c counting) Decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	n := c.Decoder.Decode(code, pc, mode, out)
	c.decoded.Add(int64(n))
	return n
}
