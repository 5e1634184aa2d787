package code

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestPadsOfPushingFunction: i386 pushes arguments, so that SP differs from call to call. The
// runtime enters landing pads with none of them on the stack. The pads write to esi, which
// f has saved and a function of their own would save; the second begins where the first
// ends, behind _Unwind_Resume.
func TestPadsOfPushingFunction(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		401000 <f>:
		401060 <g>:
		401070 <never>:
			401000: 53              push %ebx
			401001: 56              push %esi
			401002: 83 ec 14        sub  $0x14,%esp
			401005: 83 ec 0c        sub  $0xc,%esp
			401008: 50              push %eax
			401009: e8 52 00 00 00  call 401060
			40100e: 83 c4 10        add  $0x10,%esp
			401011: 83 ec 0c        sub  $0xc,%esp
			401014: 50              push %eax
			401015: e8 46 00 00 00  call 401060
			40101a: 83 c4 24        add  $0x24,%esp
			40101d: 5e              pop  %esi
			40101e: 5b              pop  %ebx
			40101f: c3              ret
			401020: 89 c6           mov  %eax,%esi     a landing pad
			401022: 83 ec 0c        sub  $0xc,%esp
			401025: 50              push %eax
			401026: e8 35 00 00 00  call 401060
			40102b: 83 c4 10        add  $0x10,%esp
			40102e: 83 ec 0c        sub  $0xc,%esp
			401031: 56              push %esi
			401032: e8 39 00 00 00  call 401070
			401037: 89 c6           mov  %eax,%esi     another
			401039: eb e7           jmp  401022
			401060: c3              ret
			401070: 0f 0b           ud2`}.Image(t)
	const rest, written, pushed = "CFA=esp+32 RA=[CFA-4]", "CFA=esp+32 RA=[CFA-4] esi=[CFA-12]", "CFA=esp+48 RA=[CFA-4] esi=[CFA-12]"
	for pc, want := range map[uint64]string{0x401020: rest, 0x401022: written, 0x401026: pushed, 0x401037: rest, 0x401039: written} {
		if got := first(New(nil), exact(img, pc, 0)); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
	for _, pc := range []uint64{0x40102b, 0x401037} {
		if got := first(New(nil), resuming(img, pc, 0)); got != pushed {
			t.Errorf("behind the call before %#x: %s, want %s", pc, got, pushed)
		}
	}
}

// TestPadBehindColdPart: GCC puts landing pads behind what it has moved away from their
// function (401000). No flow leads to them, so that f may have called from there.
func TestPadBehindColdPart(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		401040 <dtor>:
		401050 <never>:
		401060 <f>:
			401000: e8 4b 00 00 00     call 401050     __cxa_throw
			401005: 48 89 c3           mov  %rax,%rbx
			401008: 48 89 df           mov  %rbx,%rdi
			40100b: e8 30 00 00 00     call 401040
			401010: 48 89 df           mov  %rbx,%rdi
			401013: e8 38 00 00 00     call 401050     _Unwind_Resume
			401018: 0f 1f 00           nopl (%rax)
			401040: c3                 ret
			401050: 0f 0b              ud2
			401060: 53                 push %rbx
			401061: 48 83 ec 30        sub  $0x30,%rsp
			401065: e8 d6 ff ff ff     call 401040
			40106a: 85 c0              test %eax,%eax
			40106c: 0f 85 8e ff ff ff  jne  401000
			401072: 48 83 c4 30        add  $0x30,%rsp
			401076: 5b                 pop  %rbx
			401077: c3                 ret`}.Image(t)
	const frame = "CFA=rsp+64 RA=[CFA-8] rbx=[CFA-16]"
	s := New(nil)
	for _, pc := range []uint64{0x401010, 0x401018} {
		if got := first(s, resuming(img, pc, 0)); got != frame {
			t.Errorf("%#x: %s, want %s", pc, got, frame)
		}
		if a, _, _ := s.Reaches(alone(img), 0x401060, 0, pc); a != unwind.Unknown {
			t.Errorf("f comes to %#x: %v", pc, a)
		}
	}
}

// alone is a snapshot of nothing but a program where it was linked.
func alone(img *image.Image) *target.Snapshot {
	var b target.Builder
	lo, hi := img.Segments.Bounds()
	return &target.Snapshot{Arch: img.Arch, Memory: b.Memory(img.Arch), Modules: []*target.Module{{Name: "app", Image: img, Range: target.Range{Lo: lo, Hi: hi}}}}
}
