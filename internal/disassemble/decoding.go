package disassemble

import (
	"encoding/binary"
	"sync"

	"golang.org/x/arch/arm/armasm"
)

// decoding is held while a decoder of golang.org/x/arch runs for ARM, AArch64 or RISC-V. These three write to a variable of
// their package at each instruction (decoderCover, which their own tests read): two goroutines would race.
var decoding sync.Mutex

// decoded is what decode makes of code, one goroutine at a time.
func decoded[I any](decode func([]byte) (I, error), code []byte) (I, error) {
	decoding.Lock()
	defer decoding.Unlock()
	return decode(code)
}

// decodedARM is the A32 instruction that word holds.
func decodedARM(word uint32) (armasm.Inst, error) {
	return decoded(func(code []byte) (armasm.Inst, error) { return armasm.Decode(code, armasm.ModeARM) },
		binary.LittleEndian.AppendUint32(nil, word))
}
