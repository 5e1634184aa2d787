package callee

import (
	"encoding/hex"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/captured"
)

// FuzzEffects takes random bytes for the code of every processor: questions end, and their
// answers agree with one another.
func FuzzEffects(f *testing.F) {
	for which := range len(captured.Archs()) {
		for _, text := range []string{"ff25ca2f0000", "e80b000000c3ebfe", "e80bfeffffc20800", "03e00008000000000c10000000000000", "4770f000f805e7fe"} {
			code, err := hex.DecodeString(text)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(which), uint8(which), code)
		}
	}
	f.Fuzz(func(t *testing.T, which, mode uint8, code []byte) {
		archs := captured.Archs()
		code = code[:min(len(code), 1<<10)]
		h := image.Header{Arch: archs[int(which)%len(archs)], Segments: []image.Segment{{Addr: 0x1000, Size: uint64(len(code)), Data: code, Exec: true}}}
		effects := New(disasm.Of(image.New(h, nil)), nil)
		m := absint.New(effects.code)
		var st absint.State
		for i := uint64(0); i <= uint64(len(code)); i++ {
			at := disasm.Addr{PC: 0x1000 + i, Mode: cpu.Mode(mode & 1)}
			e := effects.Of(at)
			if again, ok := effects.Find(at); !ok || e != again || e.Returns == effects.NeverReturns(at) {
				t.Errorf("%#x: %+v, then %+v", at.PC, e, again)
			}
			if !e.Returns && e.Pops != 0 || !h.Arch.CallPushesRA && (e.Pops != 0 || e.PC != cpu.NoReg) {
				t.Errorf("%#x: %+v", at.PC, e)
			}
			if slot, ok := effects.StubSlot(at); ok != (slot != 0) {
				t.Errorf("%#x: a stub: %t, through %#x", at.PC, ok, slot)
			}
			var in cpu.Insn
			st.Start(h.Arch)
			if effects.code.One(at, &in) && in.Op == cpu.OpCall && effects.NeverReturns(disasm.Target(&in)) &&
				!effects.CallNeverReturns(&m, &st, &in, disasm.Target(&in), true) {
				t.Errorf("%#x: the call returns from a function that does not", at.PC)
			}
		}
	})
}
