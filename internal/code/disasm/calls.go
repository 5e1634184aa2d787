package disasm

import "github.com/backsight/backsight/cpu"

// CallSteps tells which of the bytes that read as calls are calls in step with the code
// before them. Code is decoded for it in blocks, each once while the questions go upwards:
// a text of nothing but such bytes costs one pass.
type CallSteps struct {
	code  Code
	mode  cpu.Mode
	base  uint64 // of the block that was decoded last
	known bool
	calls cpu.CallBlock
	clean bool
}

// NewCallSteps returns what answers for code of one mode.
func NewCallSteps(c Code, mode cpu.Mode) CallSteps { return CallSteps{code: c, mode: mode} }

// leadIn is how many bytes in front of a block are at hand.
const leadIn = 64

// At tells whether what Code.Calls found at a site is a call in step, and whether it is far
// from data: the code around is all defined.
func (s *CallSteps) At(site uint64) (call, clean bool) {
	base := site &^ (cpu.CallBlockSize - 1)
	if !s.known || base != s.base {
		s.known, s.base, s.calls = true, base, cpu.CallBlock{}
		before := s.code.Img.Before(site, int(site-base)+leadIn)
		code := s.code.Img.Code(site - uint64(len(before)))
		from := len(before) - int(site-base)
		s.clean = s.code.Arch.Decoder.InStep(code, from, s.mode, &s.calls)
	}
	at := site - base
	return s.calls[at/64]>>(at%64)&1 != 0, s.clean
}
