package code

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// made is a function that a program made while it ran, from a listing.
func made(t *testing.T, listing string) *image.Image {
	t.Helper()
	img := codetest.Program{CPU: "x86_64", Listing: listing}.Image(t)
	img.Made = true
	return img
}

// TestMadeFrames: callees of V8's optimized code pop what it pushed for them, so that behind a call the frame pointer tells and not SP. In front of
// the frame, and once it is gone, SP does.
func TestMadeFrames(t *testing.T) {
	img := made(t, `
		401000 <JS:*f>:
		401000: 48 8b 41 f8        mov  -0x8(%rcx),%rax
		401004: 55                 push %rbp
		401005: 48 89 e5           mov  %rsp,%rbp
		401008: 56                 push %rsi
		401009: 48 83 ec 10        sub  $0x10,%rsp
		40100d: 51                 push %rcx
		40100e: 52                 push %rdx
		40100f: e8 ec 0f 00 00     call 402000
		401014: 48 89 ec           mov  %rbp,%rsp
		401017: 5d                 pop  %rbp
		401018: c2 18 00           ret  $0x18`)
	const frame = "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"
	expect(t, New(nil), img, resuming, map[uint64]string{0x401014: frame})
	expect(t, New(nil), img, exact, map[uint64]string{0x401004: "CFA=rsp+8 RA=[CFA-8]", 0x401005: "CFA=rsp+16 RA=[CFA-8]",
		0x40100e: frame, 0x401014: frame, 0x401018: "CFA=rsp+8 RA=[CFA-8]"})
}

// TestMadeByCallee: V8's baseline code has a callee make its frame, and jumps to what takes it down. Behind the first call the
// code tells nothing: the frame pointer convention has to.
func TestMadeByCallee(t *testing.T) {
	img := made(t, `
		401000 <JS:^f>:
		401000: b8 60 00 00 00     mov  $0x60,%eax
		401005: e8 f6 0f 00 00     call 402000
		40100a: 50                 push %rax
		40100b: 50                 push %rax
		40100c: 48 8b 45 b0        mov  -0x50(%rbp),%rax
		401010: e8 eb 1f 00 00     call 403000
		401015: e9 e6 2f 00 00     jmp  404000`)
	expect(t, New(nil), img, resuming, map[uint64]string{0x40100a: "none", 0x401015: "none"})
	expect(t, New(nil), img, exact, map[uint64]string{0x401005: "CFA=rsp+8 RA=[CFA-8]", 0x40100c: "none"})
}

// TestMadeWithoutFramePointer: HotSpot's optimized code pushes nothing, and its return undoes what its beginning did.
func TestMadeWithoutFramePointer(t *testing.T) {
	img := made(t, `
		401000 <LT;f()>:
		401000: 89 84 24 00 c0 fe ff  mov %eax,-0x14000(%rsp)
		401007: 55                 push %rbp
		401008: 48 83 ec 20        sub  $0x20,%rsp
		40100c: e8 ef 0f 00 00     call 402000
		401011: 48 83 c4 20        add  $0x20,%rsp
		401015: 5d                 pop  %rbp
		401016: c3                 ret`)
	const frame = "CFA=rsp+48 RA=[CFA-8]"
	expect(t, New(nil), img, resuming, map[uint64]string{0x401011: frame})
	expect(t, New(nil), img, exact, map[uint64]string{0x40100c: frame, 0x401016: "CFA=rsp+8 RA=[CFA-8]"})
}
