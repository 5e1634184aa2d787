package x86

import (
	"math/rand/v2"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// TestSkip: what is skipped is idle by the effects that Decode tells, and what stands behind is what Decode tells of it.
func TestSkip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	code := make([]byte, stepping.SkipSpan+2*window)
	skipped := 0
	for range 100_000 {
		someCode(random, code)
		d, w := decoder{long: random.IntN(2) == 0}, someWatch(random)
		limit := random.UintN(2 * stepping.SkipSpan)
		var out cpu.Insn
		starts, n := d.Skip(code, limit, 0x1000, &w, &out)
		var decoded [stepping.SkipSpan + 1]cpu.Insn
		d.Decode(code, 0x1000, 0, decoded[:])
		at := uint(0)
		for i := range decoded {
			in := &decoded[i]
			if at == n {
				if out.Len != 0 && (out != *in || w.Idle(in)) || out.Len == 0 && n < min(limit, stepping.SkipSpan) {
					t.Fatalf("% x: %+v behind %d bytes, decoded %+v", code, out, n, *in)
				}
				break
			}
			if starts>>at&1 == 0 || !w.Idle(in) {
				t.Fatalf("% x: skipped at %d with %+v: %+v", code, at, w, *in)
			}
			starts &^= 1 << at
			at += uint(in.Len)
			skipped++
		}
		if starts != 0 {
			t.Fatalf("% x: %b are no instructions", code, starts)
		}
	}
	if skipped < 50_000 {
		t.Errorf("%d instructions were skipped", skipped)
	}
}

// someCode fills code with bytes of which many are prefixes, opcodes of compiled code, and ModRM bytes around the stack.
func someCode(random *rand.Rand, code []byte) {
	likely := []byte{0x48, 0x49, 0x4c, 0x66, 0x0f, 0x89, 0x8b, 0x8d, 0x01, 0x83, 0x31, 0x3d, 0x85, 0xb8, 0xb6, 0x44, 0x24, 0x04, 0xc7, 0xe0, 0x90}
	for i := range code {
		code[i] = byte(random.Uint32())
		if random.IntN(4) != 0 {
			code[i] = likely[random.IntN(len(likely))]
		}
	}
}

// someWatch holds the PC and what else analyses hold; SP is a pointer.
func someWatch(random *rand.Rand) stepping.Watch {
	some := func() cpu.RegSet { return cpu.RegSet(random.Uint64() & random.Uint64() & 0xffff) }
	w := stepping.Watch{Stack: RSP, Pointers: some().With(RSP), Tracked: some(), Unused: some()}
	w.Held = w.Pointers | w.Unused | some().With(RIP)
	w.Constants = random.IntN(2) == 0
	w.SavedFrom, w.SavedTo = -random.Int64N(64), random.Int64N(64)
	return w
}
