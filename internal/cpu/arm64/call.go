package arm64

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// CallBefore implements cpu.Decoder: bl, blr, blraa and their like.
func (d decoder) CallBefore(before []byte, ra uint64, _ cpu.Mode) (cpu.CallSite, bool) {
	if len(before) < 4 || ra&3 != 0 {
		return cpu.CallSite{}, false
	}
	var in [1]cpu.Insn
	d.Decode(before[len(before)-4:], ra-4, 0, in[:])
	if in[0].Op != cpu.OpCall {
		return cpu.CallSite{}, false
	}
	return cpu.CallSite{Addr: ra - 4, Target: in[0].Target, Direct: in[0].Src == cpu.NoReg}, true
}

// Calls implements cpu.Decoder: every bl. Of a plain b a scan cannot tell
// whether it leaves its function.
func (decoder) Calls(code []byte, pc uint64, _ cpu.Mode, dst []cpu.CallRef) []cpu.CallRef {
	for at := 0; at+4 <= len(code); at += 4 {
		w := binary.LittleEndian.Uint32(code[at:])
		if w>>26 == 0x25 {
			site := pc + uint64(at)
			dst = append(dst, cpu.CallRef{Site: site, Target: site + uint64(sext(w, 26)<<2)})
		}
	}
	return dst
}

// InStep implements cpu.Decoder: what Calls finds is in step.
func (decoder) InStep(_ []byte, _ int, _ cpu.Mode, calls *cpu.CallBlock) bool {
	*calls = cpu.AllCalls()
	return true
}
