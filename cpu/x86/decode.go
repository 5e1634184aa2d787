package x86

import "github.com/backsight/backsight/cpu"

// decoder decodes the 64-bit mode (long) or the 32-bit mode.
type decoder struct{ long bool }

func (d decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int { return 0 }

func (d decoder) CallBefore(before []byte, ra uint64, _ cpu.Mode) (cpu.CallSite, bool) {
	return cpu.CallSite{}, false
}

func (d decoder) Calls(code []byte, pc uint64, _ cpu.Mode, dst []cpu.CallRef) []cpu.CallRef {
	return dst
}
