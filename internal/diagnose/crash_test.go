package diagnose

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// A program: code at 0x401000, a stack whose lowest byte is 0x7ffe_0000.
const (
	code  = 0x401000
	stack = 0x7ffe0000
)

func archNamed(t *testing.T, name string) *cpu.Arch {
	t.Helper()
	a, ok := append(cpu.Set(x86.Archs()), arm64.Archs()...).ByName(name, "", false)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return a
}

// crashed is a snapshot of a thread whose PC is at insn, and its backtrace of one frame.
func crashed(t *testing.T, arch *cpu.Arch, insn []byte, regs map[string]uint64, f target.Fault) (*target.Snapshot, *report.Thread) {
	t.Helper()
	m := synth.Module(arch, code, append(slices.Clone(insn), make([]byte, 16)...))
	snap := synth.Capture(arch, []*target.Module{m}, synth.Stack(arch).Words(make([]uint64, 512)...).Place(stack))
	snap.OS, snap.PID, snap.Fault = "Linux", 77, &f
	r := synth.Regs(arch, regs)
	if _, ok := r.Lookup(arch.PC); !ok {
		r.Set(arch.PC, code)
	}
	if _, ok := r.Lookup(arch.SP); !ok {
		r.Set(arch.SP, stack+0x100)
	}
	pc, _ := r.Lookup(arch.PC)
	frame := unwind.Frame{PC: pc, CallSite: pc, Exact: true, Module: m, Checks: unwind.Executable, Trust: unwind.Certain}
	if !m.Contains(pc) {
		frame.Module, frame.Checks = nil, 0
	}
	snap.Threads = []target.Thread{{ID: 1, Regs: *r, Crashed: true}}
	return snap, &report.Thread{Thread: &snap.Threads[0], Frames: []report.Frame{{Frame: &frame, Location: new(symbol.Location)}}}
}

// TestKinds: what the kernel tells of a crash, and what is made of it. Where HasAddress is
// not set, the capture has no siginfo, as those of QEMU's user mode.
func TestKinds(t *testing.T) {
	segv := func(code int, addr uint64) target.Fault {
		return target.Fault{Name: "SIGSEGV", Code: code, Address: addr, HasAddress: true, Thread: 1}
	}
	add := []byte{0x03, 0x38}                                        // add (%rax),%edi
	store := []byte{0x89, 0x3c, 0xc8}                                // mov %edi,(%rax,%rcx,8)
	push := []byte{0x55}                                             // push %rbp
	callRAX, jumpMem := []byte{0xff, 0xd0}, []byte{0xff, 0x63, 0x10} // call *%rax; jmp *16(%rbx)
	movsd := []byte{0xf2, 0x0f, 0x10, 0x40, 16}                      // movsd 16(%rax),%xmm0
	for _, tt := range []struct {
		name   string
		insn   []byte
		regs   map[string]uint64
		fault  target.Fault
		kind   string
		access string
		says   string
	}{
		{"NULL read", add, map[string]uint64{"rax": 0x10}, segv(1, 0x10), report.CrashNullPointer, "read", "reads from 0x10 through a pointer that is NULL"},
		{"NULL read, no siginfo", add, map[string]uint64{"rax": 0x10}, target.Fault{Name: "SIGSEGV", Thread: 1}, report.CrashNullPointer, "read", "reads from 0x10"},
		{"NULL read, floating point", movsd, map[string]uint64{"rax": 0}, segv(1, 0x10), report.CrashNullPointer, "read", "reads from 0x10"},
		{"write to code", store, map[string]uint64{"rax": code, "rcx": 1}, segv(2, code+8), report.CrashReadOnly, "write", "writes to 0x401008, the code of"},
		{"wild write", store, map[string]uint64{"rax": 0x66660000, "rcx": 1}, segv(1, 0x66660008), "", "write", "writes to 0x66660008, where nothing is mapped"},
		{"not canonical", add, map[string]uint64{"rax": 0x4141414141414141}, target.Fault{Name: "SIGSEGV", Code: 0x80, Thread: 1}, "", "read",
			"reads from 0x4141414141414141, no address that this processor can translate"},
		{"call of what is not canonical", callRAX, map[string]uint64{"rax": 0x4141414141414141}, target.Fault{Name: "SIGSEGV", Code: 0x80, Thread: 1}, report.CrashWildCall, "execute",
			"a function pointer that points to no code was called"},
		{"the processor refused a jump for another reason", jumpMem, map[string]uint64{"rbx": stack}, target.Fault{Name: "SIGSEGV", Code: 0x80, Thread: 1}, "", "read", "reads from 0x7ffe0010"},
		{"another register than the fault's", add, map[string]uint64{"rax": 0x30}, segv(1, 0x10), report.CrashNullPointer, "", "accesses 0x10"},
		{"stack overflow", push, map[string]uint64{"rsp": stack}, segv(1, stack-8), report.CrashStackOverflow, "write", "the stack overflowed: 4 KB are in use down to 0x7ffe0000"},
		{"NULL near no stack", push, map[string]uint64{"rsp": 0x10}, segv(1, 8), report.CrashNullPointer, "write", "writes to 0x8"},
		{"NULL call", nil, map[string]uint64{"rip": 0}, segv(1, 0), report.CrashNullCall, "execute", "a function pointer that is NULL was called"},
		{"wild call", nil, map[string]uint64{"rip": 0x12345678}, segv(1, 0x12345678), report.CrashWildCall, "execute", "points to no code"},
		{"execute of data", nil, map[string]uint64{"rip": stack + 64}, segv(2, stack+64), report.CrashNoExecute, "execute", "memory that holds no code"},
		{"misaligned", add, map[string]uint64{"rax": stack + 1}, target.Fault{Name: "SIGBUS", Code: 1, Address: stack + 1, HasAddress: true, Thread: 1}, report.CrashMisaligned, "read",
			"reads from an address that is not aligned: 0x7ffe0001, the stack of thread 1"},
		{"division", []byte{0xf7, 0xf9}, nil, target.Fault{Name: "SIGFPE", Code: 1, Address: code, HasAddress: true, Thread: 1}, report.CrashDivisionByZero, "", "divided by zero"},
		{"AVX on an old processor", []byte{0xc5, 0xf8, 0x77}, nil, target.Fault{Name: "SIGILL", Code: 2, Address: code, HasAddress: true, Thread: 1}, "", "", "one of its operands, is none of this processor"},
		{"abort", nil, nil, target.Fault{Name: "SIGABRT", Code: -6, Sender: target.Sender{PID: 77}, Thread: 1}, report.CrashAbort, "", "ended itself (abort)"},
		{"kill", nil, nil, target.Fault{Name: "SIGTERM", Code: 0, Sender: target.Sender{PID: 12, UID: 1000}, Thread: 1}, report.CrashKilled, "", "process 12 of user 1000 sent the signal"},
	} {
		snap, th := crashed(t, archNamed(t, "x86_64"), tt.insn, tt.regs, tt.fault)
		c := Crash(snap, th)
		if c.Kind != tt.kind || c.Access != tt.access || !strings.Contains(strings.Join(c.Reasons, "; "), tt.says) {
			t.Errorf("%s: kind %q, access %q, reasons %q; want %q, %q, %q", tt.name, c.Kind, c.Access, c.Reasons, tt.kind, tt.access, tt.says)
		}
	}
}

// TestMissingBinary: where a binary is missing, a PC without code says nothing of the code there.
func TestMissingBinary(t *testing.T) {
	arch := archNamed(t, "x86_64")
	for _, tt := range []struct {
		name   string
		fault  target.Fault
		issues []target.Issue
		kind   string
		says   []string
	}{
		{"all binaries are there", target.Fault{Name: "SIGSEGV"}, nil, report.CrashWildCall, []string{"a function pointer that points to no code was called"}},
		{"one is missing", target.Fault{Name: "SIGSEGV"}, []target.Issue{{Kind: target.IssueNotFound}}, "", nil},
		{"one is of another build", target.Fault{Name: "SIGSEGV"}, []target.Issue{{Kind: target.IssueNotUsed}}, "", nil},
		{"the processor was refused the code", target.Fault{Name: "SIGSEGV", Code: 1, Address: 0x12345678, HasAddress: true}, []target.Issue{{Kind: target.IssueNotFound}},
			report.CrashWildCall, []string{"a function pointer that points to no code was called"}},
		{"the processor was refused data", target.Fault{Name: "SIGSEGV", Code: 1, Address: 0x66660000, HasAddress: true}, []target.Issue{{Kind: target.IssueNotFound}},
			"", []string{"the program accesses 0x66660000, where nothing is mapped"}},
	} {
		snap, th := crashed(t, arch, nil, map[string]uint64{"rip": 0x12345678}, tt.fault)
		snap.Issues = tt.issues
		if c := Crash(snap, th); c.Kind != tt.kind || !slices.Equal(c.Reasons, tt.says) {
			t.Errorf("%s: kind %q, reasons %q", tt.name, c.Kind, c.Reasons)
		}
	}
}

// TestMIPS: the loads and stores that unwinding leaves out.
func TestMIPS(t *testing.T) {
	arch, ok := cpu.Set(mips.Archs()).ByName("mips", "o32", true)
	if !ok {
		t.Fatal("no mips")
	}
	for _, tt := range []struct {
		listing string
		word    uint32
		how     string
		addr    uint64
	}{
		{"lwl v0,0(a0)", 0x88820000, "read", 0x40},
		{"sb v0,-1(a0)", 0xa082ffff, "write", 0x3f},
		{"swc1 f0,8(a0)", 0xe4800008, "write", 0x48},
		{"addiu a0,a0,8", 0x24840008, "", 0},
		{"bc 0 (release 6)", 0xc8000000, "", 0},
	} {
		a, ok := accessMIPS(binary.BigEndian.AppendUint32(nil, tt.word), synth.Regs(arch, map[string]uint64{"a0": 0x40}), arch)
		if a.how != tt.how || a.addr != tt.addr || ok != (tt.how != "") {
			t.Errorf("%s: %+v, %v", tt.listing, a, ok)
		}
	}
}

// TestCutStack: of a stack whose upper part the capture lacks, the walk ends there, and nobody knows how much is in use.
func TestCutStack(t *testing.T) {
	for addr, says := range map[uint64]string{stack + 0x1008: "more than 4 KB are in use", stack + 0x100: "overflowed: 4 KB are in use"} {
		snap, th := crashed(t, archNamed(t, "x86_64"), []byte{0x55}, map[string]uint64{"rsp": stack}, target.Fault{Name: "SIGSEGV", Code: 1, Address: stack - 8, HasAddress: true, Thread: 1})
		th.Stop = unwind.Stop{Reason: unwind.StopUnreadable, Addr: addr}
		if c := Crash(snap, th); !strings.Contains(c.Reasons[0], says) {
			t.Errorf("unreadable at %#x: %q", addr, c.Reasons)
		}
	}
}

// TestListedOverflow: a report that lists calls has no stack. Where the access failed at the stack pointer, in a recursion, the stack
// overflowed; a pointer elsewhere, and an access there in no recursion, say nothing of the stack.
func TestListedOverflow(t *testing.T) {
	arch := archNamed(t, "x86_64")
	for _, tt := range []struct {
		name  string
		addr  uint64
		calls int
		kind  string
	}{{"at the stack pointer", stack - 8, 60, report.CrashStackOverflow}, {"elsewhere", stack - 2<<20, 60, ""}, {"in no recursion", stack - 8, 1, ""}} {
		snap, th := crashed(t, arch, []byte{0x55}, map[string]uint64{"rsp": stack}, target.Fault{Name: "SIGSEGV", Code: 1, Address: tt.addr, HasAddress: true, Thread: 1})
		snap.Memory = synth.Capture(arch, snap.Modules).Memory
		th.Frames[0].Location = &symbol.Location{Function: "parse"}
		th.Frames = slices.Repeat(th.Frames, tt.calls)
		c := Crash(snap, th)
		if c.Kind != tt.kind || tt.kind != "" && c.Reasons[0] != "the stack overflowed, in a recursion of parse" {
			t.Errorf("%s: kind %q, reasons %q", tt.name, c.Kind, c.Reasons)
		}
	}
}

// TestLargeFrame: a function whose frame has 9 MB stores at its lower end. The stack that the frame begins in is the one that overflowed,
// and not the page in between.
func TestLargeFrame(t *testing.T) {
	arch := archNamed(t, "x86_64")
	const lowest = stack - 9<<20
	for _, tt := range []struct {
		name string
		cfa  uint64
		sp   uint64
		kind string
	}{
		{"the frame begins in the stack", stack + 0x200, lowest, report.CrashStackOverflow},
		{"the frame begins below", lowest + 64, lowest, ""},
		{"the stack pointer is in the stack", stack + 0x200, stack + 0x100, ""},
	} {
		snap, th := crashed(t, arch, []byte{0x55}, map[string]uint64{"rsp": tt.sp}, target.Fault{Name: "SIGSEGV", Code: 1, Address: lowest - 8, HasAddress: true, Thread: 1})
		th.Frames[0].CFA, th.Frames[0].HasCFA = tt.cfa, true
		c := Crash(snap, th)
		if c.Kind != tt.kind || tt.kind != "" && c.Reasons[0] != "the stack overflowed: 4 KB are in use down to 0x7ffe0000; frame #0 reaches 9.0 MB further" {
			t.Errorf("%s: kind %q, reasons %q", tt.name, c.Kind, c.Reasons)
		}
	}
}

// TestPastStack: an access behind the upper end of the stack that SP is in is no overflow of what lies above. Right above a program's
// stack Linux maps [vvar], where nobody can write; above a thread's stack lies that of the next thread. A function
// whose frame begins on that one, and reaches into this one, did overflow.
func TestPastStack(t *testing.T) {
	const addr, next = stack + 0x1800, stack + 0x4000
	arch := archNamed(t, "x86_64")
	read, write := target.PermOf(true, false, false), target.PermOf(true, true, false)
	for _, tt := range []struct {
		name  string
		above target.Perm
		cfa   uint64
		kind  string
	}{
		{"[vvar]", read, 0, ""},
		{"the stack of another thread", write, stack + 0x200, ""},
		{"the stack that the frame begins on", write, next + 0x200, report.CrashStackOverflow},
	} {
		snap, th := crashed(t, arch, []byte{0x55}, map[string]uint64{"rsp": stack + 0x100}, target.Fault{Name: "SIGSEGV", Code: 1, Address: addr, HasAddress: true, Thread: 1})
		var b target.Builder
		b.Add(stack, make([]byte, 4096), 0, write)
		b.Add(next, make([]byte, 4096), 0, tt.above)
		snap.Memory = b.Memory(arch)
		th.Frames[0].CFA, th.Frames[0].HasCFA = tt.cfa, tt.cfa != 0
		if c := Crash(snap, th); c.Kind != tt.kind {
			t.Errorf("%s: kind %q, reasons %q", tt.name, c.Kind, c.Reasons)
		}
	}
}

// TestOverwrittenFurtherOut: where a word that should be a return address is none, of a function that has not returned, the access that
// failed is the crash all the same. Behind a guess, such a word says nothing.
func TestOverwrittenFurtherOut(t *testing.T) {
	snap, th := crashed(t, archNamed(t, "x86_64"), []byte{0x03, 0x38}, map[string]uint64{"rax": 0}, target.Fault{Name: "SIGSEGV", Code: 1, HasAddress: true, Thread: 1})
	th.Overwritten = &report.Overwritten{Frame: 3, Value: 0x5a5a, Slot: stack + 8}
	c := Crash(snap, th)
	if c.Kind != report.CrashNullPointer || len(c.Reasons) != 2 || !strings.HasPrefix(c.Reasons[1], "the return address was overwritten") {
		t.Errorf("kind %q, reasons %q", c.Kind, c.Reasons)
	}
	sure, guess := unwind.Frame{Trust: unwind.Certain}, unwind.Frame{Method: unwind.MethodFP}
	for want, frames := range map[bool][]unwind.Frame{true: {sure, sure}, false: {sure, guess}} {
		if _, ok := Damaged(frames, unwind.Stop{Reason: unwind.StopNoRule}); ok != want {
			t.Errorf("%+v: %v", frames, ok)
		}
	}
	if _, ok := Damaged([]unwind.Frame{sure, guess, {Method: unwind.MethodScan}}, unwind.Stop{Reason: unwind.StopRoot}); ok {
		t.Error("a search behind a guess")
	}
}

// TestReturned: a return to an address that is no code leaves that address where it came
// from, a call leaves the address behind itself.
func TestReturned(t *testing.T) {
	arch := archNamed(t, "aarch64")
	for _, tt := range []struct {
		name   string
		lr     uint64
		kind   string
		reason string
	}{
		{"ret", 0x4141414141, report.CrashSmashedReturn, `the return address was overwritten: 0x0000004141414141 ("AAAAA") is no code`},
		{"blr", code + 4, report.CrashWildCall, "a function pointer that points to no code was called"},
	} {
		snap, th := crashed(t, arch, nil, map[string]uint64{"pc": 0x4141414140, "lr": tt.lr}, target.Fault{Name: "SIGSEGV", Thread: 1})
		n, ok := Damaged([]unwind.Frame{*th.Frames[0].Frame}, unwind.Stop{Reason: unwind.StopNoRule})
		if !ok || n != 0 {
			t.Fatalf("%s: damaged at %d: %v", tt.name, n, ok)
		}
		th.Overwritten = FindOverwritten(snap, th.Thread, *th.Frames[0].Frame, 0, nil)
		if c := Crash(snap, th); c.Kind != tt.kind || !slices.Equal(c.Reasons, []string{tt.reason}) {
			t.Errorf("%s: kind %q, reasons %q", tt.name, c.Kind, c.Reasons)
		}
		snap.Modules = nil // a log without the firmware: what is code, nobody knows
		if o := FindOverwritten(snap, th.Thread, *th.Frames[0].Frame, 0, nil); o != nil {
			t.Errorf("%s: %+v without a binary", tt.name, o)
		}
	}
}

// TestReturnedLow: x86's ret leaves below SP the small number that it went to. A call through a pointer to there would have left its return
// address at SP; where that word leads to the stack, none did.
func TestReturnedLow(t *testing.T) {
	arch := archNamed(t, "x86_64")
	for _, tt := range []struct {
		name   string
		pc     uint64
		below  uint64
		atSP   uint64
		kind   string
		reason string
	}{
		{"ret", 1, 1, stack + 0x300, report.CrashSmashedReturn, "the return address was overwritten: 0x0000000000000001 is no code, at 0x7ffe00f8 on the stack"},
		{"call *%rax", 1, 1, code + 2, report.CrashNullCall, "a function pointer that is NULL was called"},
		{"another word below SP", 1, 2, stack + 0x300, report.CrashNullCall, "a function pointer that is NULL was called"},
		{"the end of a stack", 0, 0, stack + 0x300, report.CrashNullCall, "a function pointer that is NULL was called"},
	} {
		snap, th := crashed(t, arch, nil, map[string]uint64{"rip": tt.pc, "rsp": stack + 0x100}, target.Fault{Name: "SIGSEGV", Code: 1, Address: tt.pc, HasAddress: true, Thread: 1})
		words := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(make([]byte, 0xf8), tt.below), tt.atSP)
		var b target.Builder
		b.Add(stack, append(words, make([]byte, 4096-len(words))...), 0, target.PermOf(true, true, false))
		snap.Memory = b.Memory(arch)
		th.Overwritten = FindOverwritten(snap, th.Thread, *th.Frames[0].Frame, 0, nil)
		if c := Crash(snap, th); c.Kind != tt.kind || !slices.Equal(c.Reasons, []string{tt.reason}) {
			t.Errorf("%s: kind %q, reasons %q", tt.name, c.Kind, c.Reasons)
		}
	}
}

// TestReturnedByPop: ARM's `pop {r4, pc}` leaves its target below SP, whatever the link register is used for meanwhile; but a call
// through a pointer leaves the address behind itself there, and AArch64 leaves out a tag.
func TestReturnedByPop(t *testing.T) {
	for _, tt := range []struct {
		name, arch string
		text       []byte
		word       uint64 // below SP
		pc, lr     uint64
		want       string
	}{
		{"pop {r4, pc}, lr is a scratch register", "arm", nil, 0x41414141, 0x41414140, stack + 0x10, "AAAA"},
		{"pop {r4, pc} behind bl", "arm", []byte{0xfe, 0xff, 0xff, 0xeb}, 0x41414141, 0x41414140, code + 4, "AAAA"},
		{"blx r3", "arm", []byte{0x33, 0xff, 0x2f, 0xe1}, 0x41414141, 0x41414140, code + 4, ""},
		{"another word below SP", "arm", nil, 0x42424242, 0x41414140, stack + 0x10, ""},
		{"ret, with a tag", "aarch64", nil, 0, 0x0041414141414141, 0x4141414141414141, "AAAAAAAA"},
	} {
		arch, ok := append(cpu.Set(arm.Archs()), arm64.Archs()...).ByName(tt.arch, "", false)
		if !ok {
			t.Fatal(tt.arch)
		}
		snap, th := crashed(t, arch, tt.text, map[string]uint64{"pc": tt.pc, "lr": tt.lr, "sp": stack + 0x100}, target.Fault{Name: "SIGSEGV", Thread: 1})
		words := make([]uint64, 512)
		words[0x100/arch.AddrSize-1] = tt.word
		snap.Memory = synth.Capture(arch, nil, synth.Stack(arch).Words(words...).Place(stack)).Memory
		got := ""
		if o := FindOverwritten(snap, th.Thread, *th.Frames[0].Frame, 0, nil); o != nil {
			got = o.Text
		}
		if got != tt.want {
			t.Errorf("%s: %q was overwritten, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOverwritten: a rule that is stated leads to a word that is no code; what a single
// derivation from code gives may be wrong itself.
func TestOverwritten(t *testing.T) {
	arch := archNamed(t, "x86_64")
	snap, th := crashed(t, arch, nil, nil, target.Fault{Name: "SIGSEGV", Thread: 1})
	snap.Memory = synth.Capture(arch, nil, synth.Stack(arch).Words(0x4242424242424242).Place(stack)).Memory
	attempt := func(m unwind.Method, c unwind.Checks, pc uint64) report.Attempt {
		return report.Attempt{Attempt: unwind.Attempt{Method: m, Applied: true, PC: pc, Checks: c}, RASlot: stack}
	}
	for _, tt := range []struct {
		name  string
		tried []report.Attempt
		want  string
	}{
		{"cfi", []report.Attempt{attempt(unwind.MethodCFI, 0, 0x4242424242424242)}, "BBBBBBBB"},
		{"code, one derivation", []report.Attempt{attempt(unwind.MethodCode, 0, 0x4242424242424242)}, ""},
		{"code, two derivations", []report.Attempt{attempt(unwind.MethodCode, unwind.MethodsAgree, 0x4242424242424242)}, "BBBBBBBB"},
		{"leads to code", []report.Attempt{attempt(unwind.MethodCFI, unwind.Executable, code)}, ""},
		{"0 is an end", []report.Attempt{attempt(unwind.MethodCFI, 0, 0)}, ""},
	} {
		o := FindOverwritten(snap, th.Thread, *th.Frames[0].Frame, 0, tt.tried)
		if got := ""; o != nil {
			if got = o.Text; got != tt.want || o.Frame != 1 || o.Slot != stack {
				t.Errorf("%s: %+v", tt.name, o)
			}
		} else if tt.want != "" {
			t.Errorf("%s: nothing found", tt.name)
		}
	}
}

// TestCodeNames: as the kernel's headers have them.
func TestCodeNames(t *testing.T) {
	for _, tt := range []struct {
		signal string
		code   int
		want   string
	}{{"SIGSEGV", 1, "SEGV_MAPERR"}, {"SIGFPE", 14, "FPE_FLTUNK"}, {"SIGFPE", 9, "si_code 9"}, {"SIGTERM", 0, "SI_USER"}, {"SIGSEGV", 0x80, "SI_KERNEL"}, {"SIGBUS", 99, "si_code 99"}} {
		if got := codeName(tt.signal, tt.code); got != tt.want {
			t.Errorf("%s %d: %s, want %s", tt.signal, tt.code, got, tt.want)
		}
	}
}
