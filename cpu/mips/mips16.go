package mips

import "github.com/backsight/backsight/cpu"

func (d decoder) decode16(code []byte, pc uint64, out []cpu.Insn) int {
	n := 0
	for n < len(out) && len(code) >= 2 {
		begin(&out[n], 2)
		unknown(&out[n])
		code = code[2:]
		n++
	}
	return n
}

func (d decoder) callBefore16(before []byte, ra uint64) (cpu.CallSite, bool) {
	return cpu.CallSite{}, false
}

func (d decoder) calls16(code []byte, pc uint64, dst []cpu.CallRef) []cpu.CallRef { return dst }
