package x86

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// Jumps implements cpu.JumpFinder: what reads as E9 rel32, or 0F 80 to 0F 8F rel32 (Jcc), at any
// byte.
func (d decoder) Jumps(code []byte, pc uint64, dst []cpu.CallRef) []cpu.CallRef {
	const jmp, twoByte, jcc, longest = 0xe9, 0x0f, 0x80, 6
	for at := 0; at+longest <= len(code); at++ {
		b, size := code[at], 5
		if b == twoByte && code[at+1]&0xf0 == jcc {
			size = longest
		} else if b != jmp {
			continue
		}
		site := pc + uint64(at)
		target := site + uint64(size) + uint64(int32(binary.LittleEndian.Uint32(code[at+size-4:])))
		if !d.long {
			target &= 0xffff_ffff
		}
		dst = append(dst, cpu.CallRef{Site: site, Target: target})
	}
	return dst
}
