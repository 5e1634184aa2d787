package disasm

import "github.com/backsight/backsight/cpu"

// CallSteps tells which of the bytes that read as calls are calls in step with the code
// before them. Code is decoded for it in blocks, each once while the questions go upwards:
// a text of nothing but such bytes costs one pass.
type CallSteps struct {
	code Code
	mode cpu.Mode
	last stepBlock // that was decoded last
	kept []stepRun
}

// stepRun has the blocks of one executable segment.
type stepRun struct {
	lo     uint64
	blocks []stepBlock
}

// stepBlock is what is known of a block of code.
type stepBlock struct {
	base  uint64
	known bool
	clean bool
	calls cpu.CallBlock
}

// NewCallSteps returns what answers for code of one mode.
func NewCallSteps(c Code, mode cpu.Mode) CallSteps { return CallSteps{code: c, mode: mode} }

// Keep makes room for questions in any order: each block is decoded once, and kept. That takes a
// fifth of the memory of the code.
func (s *CallSteps) Keep() {
	s.code.Text(func(addr uint64, text []byte) {
		lo := addr &^ (cpu.CallBlockSize - 1)
		s.kept = append(s.kept, stepRun{lo, make([]stepBlock, (addr-lo+uint64(len(text)))/cpu.CallBlockSize+1)})
	})
}

// block is where what is known of the block at an address has its place.
func (s *CallSteps) block(base uint64) *stepBlock {
	for i := range s.kept {
		r := &s.kept[i]
		if n := (base - r.lo) / cpu.CallBlockSize; n < uint64(len(r.blocks)) {
			return &r.blocks[n]
		}
	}
	return &s.last
}

// leadIn is how many bytes in front of a block are at hand.
const leadIn = 64

// At tells whether what Code.Calls found at a site is a call in step, and whether it is far
// from data: the code around is all defined.
func (s *CallSteps) At(site uint64) (call, clean bool) {
	base := site &^ (cpu.CallBlockSize - 1)
	b := s.block(base)
	if !b.known || base != b.base {
		*b = stepBlock{base: base, known: true}
		before := s.code.Img.Segments.Before(site, int(site-base)+leadIn)
		code := s.code.Img.Segments.Code(site - uint64(len(before)))
		from := len(before) - int(site-base)
		b.clean = s.code.Arch.Decoder.InStep(code, from, s.mode, &b.calls)
	}
	at := site - base
	return b.calls[at/64]>>(at%64)&1 != 0, b.clean
}

// InStep decodes from some bytes in front of a place on, and tells whether an instruction begins
// there, and which.
func (c Code) InStep(at Addr) (in cpu.Insn, ok bool) {
	pc := at.PC - uint64(len(c.Img.Segments.Before(at.PC, leadIn)))
	cur := NewCursor(c)
	for cur.Seek(Addr{pc, at.Mode}); pc <= at.PC; {
		next := cur.Next(pc)
		if next == nil {
			break
		}
		if pc == at.PC {
			return *next, true
		}
		pc += uint64(next.Len)
	}
	return in, false
}
