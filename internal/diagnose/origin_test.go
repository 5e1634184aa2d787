package diagnose

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// originTests are functions of which the last instruction but one in the listing faults.
var originTests = []struct {
	name, arch, abi string
	halves          []uint16
	words           []uint32
	at              uint64 // of the instruction that faults
	regs            map[string]uint64
	want            string
}{
	{name: "Thumb: a global pointer", arch: "arm", abi: "cortexm", at: 4, regs: map[string]uint64{"r3": 0xa0000000},
		// ldr r3,[pc,#4]; ldr r3,[r3,#4]; ldr r3,[r3]; bx lr; .word 0x20000000
		halves: []uint16{0x4b01, 0x685b, 0x681b, 0x4770, 0x0000, 0x2000},
		want:   "ldr r3, [r3] in leaf reads from 0xa0000000; r3 came from the word at 0x20000004"},
	{name: "Thumb: a constant", arch: "arm", abi: "cortexm", at: 2, regs: map[string]uint64{"r3": 0x20000000, "r0": 1},
		// ldr r3,[pc,#4]; strb r0,[r3,#5]; bx lr; nop; .word 0x20000000
		halves: []uint16{0x4b01, 0x7158, 0x4770, 0xbf00, 0x0000, 0x2000},
		want:   "strb r0, [r3, #5] in leaf writes to 0x20000005; r3 came from the code: 0x20000000 is a constant there"},
	{name: "Thumb: an argument", arch: "arm", abi: "cortexm", at: 0, regs: map[string]uint64{"r0": 0x10, "r1": 4},
		// ldr r2,[r0,r1]; bx lr
		halves: []uint16{0x5842, 0x4770},
		want:   "ldr r2, [r0, r1] in leaf reads from 0x14; r0 came from an argument of leaf"},
	{name: "Thumb: what a call returned", arch: "arm", abi: "cortexm", at: 6, regs: map[string]uint64{"r0": 0},
		// push {r4,lr}; bl .+4; ldrsh… as ldrh r0,[r0,#2]; pop {r4,pc}
		halves: []uint16{0xb510, 0xf000, 0xf801, 0x8840, 0xbd10},
		want:   "ldrh r0, [r0, #2] in leaf reads from 0x2; r0 came from what the call before returned"},
	{name: "Thumb: behind a branch", arch: "arm", abi: "cortexm", at: 6, regs: map[string]uint64{"r3": 0x10},
		// b .+4 (to ldr); nop; ldr r3,[r1]; ldr r3,[r3]; bne to the latter
		halves: []uint16{0xe000, 0xbf00, 0x680b, 0x681b, 0xd1fd},
		want:   "ldr r3, [r3] in leaf reads from 0x10, by r3"},
	{name: "RISC-V: by gp", arch: "riscv32", abi: "ilp32", at: 4, regs: map[string]uint64{"a5": 0x10, "gp": 0x80010400},
		// lw a5,-1024(gp); lw a5,0(a5); ret
		words: []uint32{0xc001a783, 0x0007a783, 0x00008067},
		want:  "lw a5,0(a5) in leaf reads from 0x10; a5 came from the word at 0x80010000"},
	{name: "MIPS: a global pointer", arch: "mips", abi: "o32", at: 8, regs: map[string]uint64{"v0": 0x10},
		// lui v0,0x8011; lw v0,16(v0); lw v0,0(v0); jr ra
		words: []uint32{0x3c028011, 0x8c420010, 0x8c420000, 0x03e00008},
		want:  "lw v0,0(v0) in leaf reads from 0x10; v0 came from the word at 0x80110010"},
}

// TestCameFrom: where the pointer came from that an instruction used.
func TestCameFrom(t *testing.T) {
	all := append(append(cpu.Set(arm.Archs()), riscv.Archs()...), mips.Archs()...)
	for _, c := range originTests {
		arch, ok := all.ByName(c.arch, c.abi, c.arch == "mips")
		if !ok {
			t.Fatalf("no %s", c.arch)
		}
		var text []byte
		for _, h := range c.halves {
			text = binary.LittleEndian.AppendUint16(text, h)
		}
		for _, w := range c.words {
			if arch.BigEndian {
				text = binary.BigEndian.AppendUint32(text, w)
			} else {
				text = binary.LittleEndian.AppendUint32(text, w)
			}
		}
		m := synth.Module(arch, code, append(text, make([]byte, 64)...))
		snap := synth.Capture(arch, []*target.Module{m})
		snap.Fault = &target.Fault{Name: "fault", Status: "refused"}
		snap.Threads = []target.Thread{{Regs: *synth.Regs(arch, c.regs), Crashed: true}}
		frame := unwind.Frame{PC: code + c.at, CallSite: code + c.at, Exact: true, Module: m, Checks: unwind.Executable}
		if arch.ModeOnly {
			frame.Mode = 1
		}
		th := &report.Thread{Thread: &snap.Threads[0], Frames: []report.Frame{{Frame: &frame, Location: &symbol.Location{Function: "leaf", Entry: code}}}}
		if got := strings.Join(Crash(snap, th).Reasons, "; "); got != "refused; "+c.want {
			t.Errorf("%s:\n%s; want\nrefused; %s", c.name, got, c.want)
		}
	}
}

// TestInHandler: the exception by its number in xPSR, and the handler by the vector table.
func TestInHandler(t *testing.T) {
	arch, _ := cpu.Set(arm.Archs()).ByName("arm", "cortexm", false)
	text := make([]byte, 256)
	binary.LittleEndian.PutUint32(text, 0x20001000)
	for n := 1; n < 24; n++ {
		binary.LittleEndian.PutUint32(text[4*n:], code+128|1)
	}
	snap := synth.Capture(arch, []*target.Module{synth.Module(arch, code, text)})
	for xpsr, want := range map[uint64]string{0x0100_0015: "in the handler of interrupt 5", 0x0100_000f: "in the handler of SysTick", 0x0100_0000: ""} {
		th := &report.Thread{Thread: &target.Thread{Regs: *synth.Regs(arch, map[string]uint64{"xpsr": xpsr})}}
		if got := inHandler(snap, th); got != want {
			t.Errorf("%#x: %q, want %q", xpsr, got, want)
		}
		snap.Fault = &target.Fault{Name: "hard fault"} // a report without fault status registers
		if got := strings.Join(Crash(snap, th).Reasons, ""); got != want {
			t.Errorf("%#x: %q, want %q", xpsr, got, want)
		}
	}
}

// TestHandlerReturns: the value with which a handler returns is no address that was overwritten.
func TestHandlerReturns(t *testing.T) {
	arch, _ := cpu.Set(arm.Archs()).ByName("arm", "cortexm", false)
	snap := synth.Capture(arch, []*target.Module{synth.Module(arch, code, make([]byte, 64))})
	frame := unwind.Frame{PC: code, CallSite: code, Checks: unwind.Executable}
	for pc, want := range map[uint64]bool{0xffff_fffc: false, 0x4141_4140: true} {
		tried := []report.Attempt{{Attempt: unwind.Attempt{Method: unwind.MethodCFI, Applied: true, PC: pc}}}
		if o := FindOverwritten(snap, &target.Thread{}, frame, 1, tried); (o != nil) != want {
			t.Errorf("%#x: %+v", pc, o)
		}
	}
}
