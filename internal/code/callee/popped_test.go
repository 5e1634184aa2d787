package callee

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestNotTakenBack: what a callee popped that is called through a pointer, or is another library's,
// its caller tells, which takes back less than it put there, or
// aligns SP for the next call with more than that needs. A function of the program tells by itself, unless no return is found.
func TestNotTakenBack(t *testing.T) {
	const put16, put12, toEBX = "83 ec 04 52 50 56 ", "52 50 56 ", "ff d3 "
	for _, tt := range []struct {
		name, before, behind string
		depth, want          int64
	}{
		{"all of it", put16, "83 c4 10 ff d3", 0, 0},
		{"12 of 16 bytes", put16, "8b 44 24 20 83 c4 0c 8b 08 ff d3", 0, 4},
		{"8 of 16 bytes: half is left for another call", put16, "83 c4 08 c3", 0, 0},
		{"12 of 16 bytes, and a push", put16, "83 c4 0c 50 ff d3", 0, 0},
		{"12 of 16 bytes, then more", put16, "83 c4 0c 83 c4 10 c3", 0, 0},
		{"all of 12 bytes", put12, "83 c4 0c c3", 0, 0},
		{"more than was put there: earlier arguments", put16, "83 c4 2c c3", 0, 0},
		{"arguments of two calls", "83 c4 10 " + put16, "83 c4 0c c3", 0, 4},
		{"SP is set", "8d 65 f0 " + put16, "83 c4 0c c3", 0, 0},
		{"12, of 8 that were pushed behind a frame", "83 ec 24 52 50 ", "83 c4 0c c3", 48, 4},
		{"28, all but the return address", "83 ec 10 52 50 56 ", "83 c4 1c c3", 32, 0},
		{"12, of 8 that were pushed nobody knows where", "83 ec 24 52 50 ", "83 c4 0c c3", 0, 0},
		{"12, of 12 that were pushed behind a frame", "83 ec 20 52 50 56 ", "83 c4 0c c3", 48, 0},
		{"12, where SP is not aligned", "83 ec 28 52 50 ", "83 c4 0c c3", 52, 0},
		{"SP is aligned anew with 20 bytes", put16, "83 ec 08 52 50 56 ff d3", 0, 4},
		{"SP is aligned anew with 16 bytes", put16, "83 ec 04 52 50 56 ff d3", 0, 0},
		{"20 bytes of arguments, and 32 are taken back", put16, "52 50 56 52 50 ff d3 83 c4 20 c3", 0, 4},
		{"20 bytes of arguments, and 36 are taken back: SP was not aligned", put16, "52 50 56 52 50 ff d3 83 c4 24 c3", 0, 0},
		{"4 bytes of arguments, and 20 are taken back: SP was not aligned", put16, "50 ff d3 83 c4 14 c3", 0, 0},
		{"12 of 16 bytes, and three pushes: the next call has the fourth word", put16, "83 c4 0c 52 50 56 ff d3 83 c4 10 c3", 0, 0},
		{"12 of 16 bytes, and 16 for the next call", put16, "83 c4 0c 83 ec 04 52 50 56 ff d3 83 c4 10 c3", 0, 4},
		{"12 of 16 bytes, then two more such calls", put16, "83 c4 0c " + put16 + toEBX + "83 c4 0c " + put16 + toEBX + "83 c4 0c c3", 0, 4},
		{"12 of 16 bytes, and 16 where no call follows", put16, "83 c4 0c 83 ec 04 52 50 56 c3", 0, 0},
		{"behind the prologue, and a call without arguments", "57 56 83 ec 1c ff d3 " + put16, "83 c4 0c c3", 0, 4},
		{"behind a branch", "83 ec 1c 74 00 " + put16, "83 c4 0c c3", 0, 4},
		{"nothing was put there, a word is taken back", "89 2c 24 ", "83 ec 04 c3", 0, 4},
		{"nothing was put there, a word is put for the next call", "89 2c 24 ", "83 ec 04 52 50 56 ff d3", 0, 0},
		{"20 bytes for no call", put16, "83 ec 08 52 50 56 c3", 0, 0},
		{"20 bytes, behind 12", put12, "83 ec 08 52 50 56 ff d3", 0, 0},
		{"12 of 16 bytes, behind a jump", put16, "eb 01 90 83 c4 0c ff d3", 0, 4},
		{"16 of 16 bytes, behind a jump", put16, "eb 01 90 83 c4 10 ff d3", 0, 0},
		{"12 of 16 bytes of arguments, 4 of which an earlier call has left, behind a branch", put12, "83 c4 0c 74 01 90 83 ec 0c 50 ff d3", 48, 4},
		{"16 of them", put12, "83 c4 10 74 01 90 83 ec 0c 50 ff d3", 48, 0},
		{"12 of 16 bytes at the end of a block, and the frame behind a branch", put16, "83 c4 0c 75 00 83 c4 30 c3", 0, 4},
		{"12 of 12 bytes of arguments, 4 of which an earlier call has left, and no call before the function leaves", put12, "83 c4 0c 75 00 ff e0", 48, 4},
		{"16 of them", put12, "83 c4 10 75 00 ff e0", 48, 0},
		{"all of 16, and 13 words for a call behind a jump", put16, "83 c4 40" + strings.Repeat(" 50", 13) + " eb 00 ff e0", 80, 0},
		{"all of 16, and 12 of 16 behind the next call", put16, "83 c4 10 " + put16 + toEBX + "83 c4 0c 75 00 ff e0", 80, 0},
		{"a jump that never ends", put16, "eb fe", 0, 0},
		{"12 and the frame of 12 up to the return", "83 ec 08 " + put16, "83 c4 0c 83 c4 08 c3", 28, 4},
		{"16 and the frame of 12 up to the return", "83 ec 08 " + put16, "83 c4 10 83 c4 08 c3", 28, 0},
		{"12 of 16 bytes, long behind where a block begins", strings.Repeat("90 ", 40) + put16, "83 c4 0c ff d3", 0, 4},
		{"12 of 16 bytes, long before the next call", put16, "83 c4 0c " + strings.Repeat("90 ", 28) + put16 + "ff d3", 0, 4},
		{"20 bytes, where SP was aligned", put12, "83 ec 08 52 50 56 ff d3", 32, 4},
	} {
		f := effects(t, codetest.Program{CPU: "i386", Listing: "1000: " + tt.before + toEBX + tt.behind + "\n2000: c3\n3000: ff 25 00 c0 04 08\n4000: ff e0",
			Imports: map[uint64]string{0x804c000: "f"}})
		next := 0x1000 + uint64(len(tt.before+toEBX)/3)
		site := Site{Start: 0x1000, PC: next - 2, Next: next, Depth: tt.depth}
		for _, callee := range []struct {
			what  string
			to    disasm.Addr
			known bool
			want  int64
		}{
			{"a pointer", disasm.Addr{}, false, tt.want},
			{"an import", at(0x3000), true, tt.want},
			{"a function", at(0x2000), true, 0},
			{"a function of a jump table", at(0x4000), true, tt.want},
		} {
			if got := f.At(site, callee.to, callee.known); !got.Returns || got.Pops != callee.want {
				t.Errorf("%s, by a call of %s: %+v, want %d bytes popped", tt.name, callee.what, got, callee.want)
			}
		}
	}
}
