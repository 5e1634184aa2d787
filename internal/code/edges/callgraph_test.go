package edges

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// Where the library of linked lies in memory.
const (
	bias = 0x7700_0000
	lib  = 0x40_0000 + bias
)

// linked is a program of two modules: a stub in the first jumps through its GOT to f in the
// second, which tail-calls g there; h is beside them.
func linked(t *testing.T) (*Graph, *target.Snapshot) {
	app := codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f@plt>:
	400020 <caller>:
	400050 <leaf>:
		400000: 3c0f0041  lui   t7,0x41
		400004: 8df90010  lw    t9,16(t7)
		400008: 03200008  jr    t9
		40000c: 25f80010  addiu t8,t7,16
		400020: 27bdffe8  addiu sp,sp,-24
		400024: afbf0014  sw    ra,20(sp)
		400028: 3c190040  lui   t9,0x40
		40002c: 27390050  addiu t9,t9,80
		400030: 0320f809  jalr  t9
		400034: 00000000  nop
		400038: 8fbf0014  lw    ra,20(sp)
		40003c: 03e00008  jr    ra
		400040: 27bd0018  addiu sp,sp,24
		400050: 03e00008  jr    ra
		400054: 00000000  nop`}.Image(t)
	library := codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
	400010 <g>:
	400020 <h>:
		400000: 10000003  b     400010
		400004: 00000000  nop
		400010: 24420001  addiu v0,v0,1
		400014: 03e00008  jr    ra
		400018: 00000000  nop
		400020: 03e00008  jr    ra
		400024: 00000000  nop`}.Image(t)
	var b target.Builder
	b.Add(0x41_0010, binary.BigEndian.AppendUint32(nil, lib), 0, target.PermRead)
	modules := []*target.Module{{Name: "app", Image: app}, {Name: "lib", Image: library, Bias: bias}}
	for _, m := range modules {
		lo, hi := m.Image.Segments.Bounds()
		m.Range = target.Range{Lo: lo + m.Bias, Hi: hi + m.Bias}
	}
	return New(nil), &target.Snapshot{Arch: app.Arch, Memory: b.Memory(app.Arch), Modules: modules}
}

// TestReaches: a call to the stub runs f and g, in the other module, but not h.
func TestReaches(t *testing.T) {
	s, snap := linked(t)
	for range 2 { // found, and remembered
		for _, tt := range []struct {
			name      string
			entry, pc uint64
			want      stackwalk.Answer
			alone     bool // the code of one image decides
		}{
			{"the stub itself", 0x400000, 0x400008, stackwalk.Yes, true},
			{"through the GOT", 0x400000, lib, stackwalk.Yes, false},
			{"and the tail call", 0x400000, lib + 0x10, stackwalk.YesByJump, false},
			{"the tail call", lib, lib + 0x10, stackwalk.YesByJump, true},
			{"h is another function", 0x400000, lib + 0x20, stackwalk.No, false},
			{"h does not follow f", lib, lib + 0x20, stackwalk.No, true},
			{"leaf calls nobody", 0x400050, 0x400020, stackwalk.No, true},
			{"called, which is another frame", 0x400020, 0x400050, stackwalk.No, true},
			{"outside all modules", 0x1000, lib, stackwalk.Unknown, false},
		} {
			if got, alone, _ := s.Reaches(snap, tt.entry, 0, tt.pc); got != tt.want || alone != tt.alone {
				t.Errorf("%s: %#x reaches %#x: %d, by one image alone: %t", tt.name, tt.entry, tt.pc, got, alone)
			}
		}
	}
}

// TestReachesImport: MIPS has no PLT, and the GOT holds the address of a stub until the import is
// bound. The call goes to what the library exports under the import's name, or, where that is
// elsewhere, to nobody knows where: another library may export that name as well.
func TestReachesImport(t *testing.T) {
	s, snap := linked(t)
	app := codetest.Program{CPU: "mips o32 big", Imports: map[uint64]string{0x400000: "f"}, Listing: `
	400000 <f@stub>:
		400000: 8f998010  lw    t9,-32752(gp)
		400004: 03e07825  move  t7,ra
		400008: 0320f809  jalr  t9
		40000c: 24180003  li    t8,3`}.Image(t)
	snap.Modules[0].Image = app
	for pc, want := range map[uint64]stackwalk.Answer{lib: stackwalk.Yes, lib + 0x10: stackwalk.YesByJump, lib + 0x20: stackwalk.Unknown} {
		if got, alone, _ := s.Reaches(snap, 0x400000, 0, pc); got != want || alone {
			t.Errorf("the stub reaches %#x: %d, want %d; by one image alone: %t", pc, got, want, alone)
		}
	}
}

// TestMayReach: an import that is not bound goes to the library's function of its name, also where the GOT,
// which may have changed since the file was made, is all that leads to its stub: a function of busybox's awk,
// 0xb83a4 of mipsel's, ends in such a jump. Nothing tells where a jump through what a caller passed goes, nor an import that no library has.
func TestMayReach(t *testing.T) {
	s, snap := linked(t)
	snap.Memory = new(target.Builder).Memory(snap.Arch)
	snap.Modules[0].Image = codetest.Program{CPU: "mips o32 big", Imports: map[uint64]string{0x400000: "f", 0x400060: "none"},
		Data: map[uint64][]uint64{0x410010: {0x400000}}, Listing: `
	400000 <f@stub>:
	400020 <tail>:
	400050 <passed>:
		400000: 8f998010  lw    t9,-32752(gp)
		400004: 03e07825  move  t7,ra
		400008: 0320f809  jalr  t9
		40000c: 24180003  li    t8,3
		400020: 27bdffe8  addiu sp,sp,-24
		400024: afb00014  sw    s0,20(sp)
		400028: 3c190041  lui   t9,0x41
		40002c: 8fb00014  lw    s0,20(sp)
		400030: 8f390010  lw    t9,16(t9)
		400034: 03200008  jr    t9
		400038: 27bd0018  addiu sp,sp,24
		400050: 00800008  jr    a0
		400054: 00000000  nop
		400060: 8f998010  lw    t9,-32752(gp)
		400064: 03e07825  move  t7,ra
		400068: 0320f809  jalr  t9
		40006c: 24180004  li    t8,4`}.Image(t)
	for _, tt := range []struct {
		what      string
		entry, pc uint64
		want      bool
	}{
		{"the import f", 0x400000, lib, true}, {"by f's jump", 0x400000, lib + 0x10, true}, {"h", 0x400000, lib + 0x20, false},
		{"through the GOT", 0x400020, lib, true}, {"h, through the GOT", 0x400020, lib + 0x20, false},
		{"a pointer", 0x400050, lib + 0x20, true}, {"an import that no module has", 0x400060, lib + 0x20, true},
	} {
		if got := mayReach(s, snap, tt.entry, 0, tt.pc); (got != stackwalk.No) != tt.want {
			t.Errorf("%s: %#x may reach %#x: %v", tt.what, tt.entry, tt.pc, got)
		}
	}
}

// TestReachesOwnChoice: a PLT stub of a library for an indirect function of its own goes to one of the
// functions that the resolver names, which is not known where that was not captured.
func TestReachesOwnChoice(t *testing.T) {
	_, snap := placed(t, codetest.Program{CPU: "x86_64", Resolvers: map[uint64]uint64{0x402000: 0x400010}, Listing: `
	400000 <memcpy@plt>:
		400000: ff 25 fa 1f 00 00     jmp  *0x1ffa(%rip)
	400010 <memcpy>:
		400010: 48 8d 05 19 00 00 00  lea  0x19(%rip),%rax
		400017: c3                    ret
	400030 <memcpy_sse2>:
		400030: 90                    nop
		400031: c3                    ret
	400040 <memset>:
		400040: 90                    nop
		400041: c3                    ret`})
	m := snap.Modules[0]
	for pc, want := range map[uint64]stackwalk.Answer{0x400031: stackwalk.Yes, 0x400017: stackwalk.Unknown, 0x400041: stackwalk.Unknown} {
		if got, _, _ := New(nil).Reaches(snap, m.ToTarget(0x400000), 0, m.ToTarget(pc)); got != want {
			t.Errorf("the stub reaches %#x: %d, want %d", pc, got, want)
		}
	}
}

// TestReachesByLastJump: f ends in a jump to g, with its frame undone. Nothing else names g, but a call of
// f does not prove that f is running there.
func TestReachesByLastJump(t *testing.T) {
	_, snap := placed(t, codetest.Program{CPU: "aarch64", Listing: `
	401000 <f>:
		400000: 52800020  mov  w0,#1           g
		400004: d65f03c0  ret
		401000: a9bf7bfd  stp  x29,x30,[sp,#-16]!
		401004: a8c17bfd  ldp  x29,x30,[sp],#16
		401008: 17fffbfe  b    400000`})
	for pc, want := range map[uint64]stackwalk.Answer{0x401004: stackwalk.Yes, 0x400004: stackwalk.YesByJump} {
		if got, _, _ := New(nil).Reaches(snap, 0x401000, 0, pc); got != want {
			t.Errorf("f reaches %#x: %d, want %d", pc, got, want)
		}
	}
}

// TestReachesByVeneer: Thumb code comes to A32 code far away by a veneer of GNU's linkers, which computes where it goes on. Android's
// libbinder calls its own functions so, by their PLT stubs.
func TestReachesByVeneer(t *testing.T) {
	_, snap := placed(t, codetest.Program{CPU: "arm", Listing: `
	400000 <veneer>:
	401000 <g>:
	401010 <h>:
		400000: 46c04778  bx   pc; nop           Thumb
		400004: e59fc000  ldr  ip,[pc]
		400008: e08cf00f  add  pc,ip,pc
		40000c: 00000ff0
		401000: e3a00001  mov  r0,#1
		401004: e12fff1e  bx   lr
		401010: e12fff1e  bx   lr`})
	for pc, want := range map[uint64]stackwalk.Answer{0x401004: stackwalk.YesByJump, 0x401010: stackwalk.No} {
		if got, _, _ := New(nil).Reaches(snap, 0x400000, 1, pc); got != want {
			t.Errorf("the veneer reaches %#x: %d, want %d", pc, got, want)
		}
	}
}

// TestReachesByGuess: it is not known whether control comes to what only a guess leads to, behind
// a jump to nobody knows where; unless the code there undoes the frame with which f jumps.
func TestReachesByGuess(t *testing.T) {
	app := codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
		400000: 53           push %rbx
		400001: ff e0        jmp  *%rax
		400003: 31 c0        xor  %eax,%eax
		400005: 5b           pop  %rbx
		400006: c3           ret
		400007: 90           nop
		400008: 48 83 c4 18  add  $24,%rsp
		40000c: c3           ret`}.Image(t)
	lo, hi := app.Segments.Bounds()
	snap := &target.Snapshot{Arch: app.Arch, Modules: []*target.Module{{Name: "app", Image: app, Range: target.Range{Lo: lo, Hi: hi}}}}
	for pc, want := range map[uint64]stackwalk.Answer{0x400001: stackwalk.Yes, 0x400003: stackwalk.Yes, 0x400008: stackwalk.Unknown} {
		if got, _, _ := New(nil).Reaches(snap, 0x400000, 0, pc); got != want {
			t.Errorf("%x is reached: %d, want %d", pc, got, want)
		}
	}
}

// TestStub: where a PLT stub goes, by its GOT entry.
func TestStub(t *testing.T) {
	s, snap := linked(t)
	for entry, want := range map[uint64]uint64{0x400000: lib, 0x400020: 0, lib: 0, 0x1000: 0} {
		if to, ok := s.Stub(snap, entry, 0, lib); to != want || ok != (want != 0) {
			t.Errorf("the stub at %#x goes to %#x, want %#x", entry, to, want)
		}
	}
}

// TestCallee: an indirect call whose target was built in the code.
func TestCallee(t *testing.T) {
	s, snap := linked(t)
	if to, mode, ok := s.Callee(snap, 0x400030, 0); !ok || to != 0x400050 || mode != 0 {
		t.Errorf("%#x, mode %d, %v", to, mode, ok)
	}
	for _, site := range []uint64{0x400020, 0x1000, 0x401000} {
		if to, _, ok := s.Callee(snap, site, 0); ok {
			t.Errorf("%#x calls %#x", site, to)
		}
	}
}

// TestCalleeByGOT: an indirect call through a word that was captured.
func TestCalleeByGOT(t *testing.T) {
	app := codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
		400000: 50                 push %rax
		400001: ff 15 f9 0f 01 00  call *0x10ff9(%rip)
		400007: 58                 pop  %rax
		400008: c3                 ret`}.Image(t)
	var b target.Builder
	b.Add(0x41_1000, binary.LittleEndian.AppendUint64(nil, 0x40_0008), 0, target.PermRead)
	lo, hi := app.Segments.Bounds()
	snap := &target.Snapshot{Arch: app.Arch, Memory: b.Memory(app.Arch), Modules: []*target.Module{{Name: "app", Image: app, Range: target.Range{Lo: lo, Hi: hi}}}}
	if to, _, ok := New(nil).Callee(snap, 0x400001, 0); !ok || to != 0x400008 {
		t.Errorf("%#x, %v", to, ok)
	}
}

// TestCalleeOfPointed: where calls go of a function that only a table of functions names. To the code
// behind, which uses what it did not set, the table names a label only.
func TestCalleeOfPointed(t *testing.T) {
	m, snap := placed(t, codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x401000: {0x400010, 0x400030}}, Listing: `
	400000 <h>:
		400000: c3                    ret
		400010: 53                    push %rbx
		400011: 48 c7 c3 00 00 40 00  mov  $0x400000,%rbx
		400018: ff d3                 call *%rbx
		40001a: 5b                    pop  %rbx
		40001b: c3                    ret
		400030: 48 c7 c0 00 00 40 00  mov  $0x400000,%rax
		400037: ff d0                 call *%rax
		400039: 5b                    pop  %rbx
		40003a: c3                    ret`})
	for site, want := range map[uint64]uint64{0x400018: 0x400000, 0x400037: 0} {
		if to, _, ok := New(nil).Callee(snap, m.ToTarget(site), 0); to != want || ok != (want != 0) {
			t.Errorf("%#x calls %#x, want %#x", site, to, want)
		}
	}
}

// TestBehindSyscall: in raise, behind the system call that sends the signal, and nowhere
// else.
func TestBehindSyscall(t *testing.T) {
	for _, tt := range []struct {
		program codetest.Program
		behind  uint64
	}{
		{codetest.Program{CPU: "mips o32 big", Listing: `
			400000: 24040001  li    a0,1
			400004: 2402108d  li    v0,4237
			400008: 0000000c  syscall
			40000c: 14e00001  bnez  a3,400014
			400010: 00000000  nop
			400014: 03e00008  jr    ra
			400018: 00000000  nop`}, 0x40000c},
		{codetest.Program{CPU: "x86_64", Listing: `
			400000: b8 ea 00 00 00     mov  $234,%eax
			400005: 0f 05              syscall
			400007: 48 3d 00 f0 ff ff  cmp  $-4096,%rax
			40000d: c3                 ret`}, 0x400007},
	} {
		img := tt.program.Image(t)
		m := &target.Module{Image: img, Bias: 0x7000_0000}
		lo, hi := img.Segments.Bounds()
		for pc := lo; pc < hi; pc++ {
			if got := New(nil).BehindSyscall(m, pc+m.Bias, 0); got != (pc == tt.behind) {
				t.Errorf("%s: %#x is behind a system call: %v", tt.program.CPU, pc, got)
			}
		}
	}
	if New(nil).BehindSyscall(nil, 0x400000, 0) || New(nil).BehindSyscall(&target.Module{}, 0x400000, 0) {
		t.Error("without code")
	}
}

// dies is a program in which f ends in a call that never returns; g begins right behind, and
// a part of f stands behind g.
func dies(t *testing.T) *target.Module {
	img := codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
	400020 <g>:
	400040 <abort>:
	400050 <j>:
	400060 <k>:
	400068 <l>:
		400000: 48 83 ec 08     sub  $8,%rsp
		400004: 85 ff           test %edi,%edi
		400006: 75 28           jne  400030
		400008: e8 13 00 00 00  call 400020
		40000d: 48 83 c4 08     add  $8,%rsp
		400011: 85 c0           test %eax,%eax
		400013: 74 06           je   40001b
		400015: c3              ret
		400016: 90              nop
		400017: 90              nop
		400018: 90              nop
		400019: 90              nop
		40001a: 90              nop
		40001b: e8 20 00 00 00  call 400040
		400020: c3              ret
		400030: e8 eb ff ff ff  call 400020
		400035: eb d6           jmp  40000d
		400040: 0f 0b           ud2
		400050: 48 8d 05 0e 00 00 00     lea 0xe(%rip),%rax   # 400065
		400057: c3              ret
		400060: e8 db ff ff ff  call 400040
		400065: 0f 1f 00        nopl (%rax)
		400068: c3              ret`}.Image(t)
	m := &target.Module{Image: img, Bias: 0x7000_0000}
	lo, hi := img.Segments.Bounds()
	m.Range = target.Range{Lo: lo + m.Bias, Hi: hi + m.Bias}
	return m
}

// TestOneFunction: f's calls are in one function, though g stands between them; g is another.
func TestOneFunction(t *testing.T) {
	m := dies(t)
	for _, c := range []struct {
		a, b uint64
		want stackwalk.Answer
	}{
		{0x400008, 0x40001b, stackwalk.Yes}, {0x400008, 0x400030, stackwalk.Yes}, {0x400030, 0x40001b, stackwalk.Yes},
		{0x400008, 0x400020, stackwalk.No}, {0x400020, 0x400040, stackwalk.No},
	} {
		if got := New(nil).OneFunction(m, c.a+m.Bias, c.b+m.Bias, 0); got != c.want {
			t.Errorf("%#x and %#x are in one function: %v", c.a, c.b, got)
		}
	}
	if New(nil).OneFunction(&target.Module{}, 1, 2, 0) != stackwalk.Unknown {
		t.Error("nothing tells without code")
	}
}

// TestOneFunctionByFrames: f calls h, and so does the code behind, to whose beginning nothing leads.
// That code is none of f's where its return undoes another frame than f makes.
func TestOneFunctionByFrames(t *testing.T) {
	for add, want := range map[string]stackwalk.Answer{"910083ff  add sp,sp,#32": stackwalk.No, "910043ff  add sp,sp,#16": stackwalk.Unknown} {
		m := &target.Module{Image: codetest.Program{CPU: "aarch64", Listing: `
	400000 <f>:
	400030 <h>:
		400000: f81f0ffe  str x30,[sp,#-16]!
		400004: 9400000b  bl  400030
		400008: f84107fe  ldr x30,[sp],#16
		40000c: d65f03c0  ret
		400010: d10083ff  sub sp,sp,#32
		400014: f90003fe  str x30,[sp]
		400018: 94000006  bl  400030
		40001c: f94003fe  ldr x30,[sp]
		400020: ` + add + `
		400024: d65f03c0  ret
		400030: d65f03c0  ret`}.Image(t)}
		m.Range.Lo, m.Range.Hi = m.Image.Segments.Bounds()
		if got := New(nil).OneFunction(m, 0x400004, 0x400018, 0); got != want {
			t.Errorf("%s: %v, want %v", add, got, want)
		}
	}
}

// TestOneFunctionSaving: a pointer leads to the code behind f, which saves the return address anew.
func TestOneFunctionSaving(t *testing.T) {
	m := &target.Module{Image: codetest.Program{CPU: "aarch64", Data: map[uint64][]uint64{0x410000: {0x400010}}, Listing: `
	400000 <f>:
	400030 <h>:
		400000: f81f0ffe  str x30,[sp,#-16]!
		400004: 9400000b  bl  400030
		400008: f84107fe  ldr x30,[sp],#16
		40000c: d65f03c0  ret
		400010: f81f0ffe  str x30,[sp,#-16]!
		400014: 94000007  bl  400030
		400018: f84107fe  ldr x30,[sp],#16
		40001c: d65f03c0  ret
		400030: d65f03c0  ret`}.Image(t)}
	m.Range.Lo, m.Range.Hi = m.Image.Segments.Bounds()
	if got := New(nil).OneFunction(m, 0x400004, 0x400014, 0); got != stackwalk.No {
		t.Errorf("%v", got)
	}
}

// TestOneFunctionByPointers: f and g, which nobody calls, stand in a table of functions only.
// No certain entry lies between their calls of h, but f was followed to its end. To k, behind
// them, nothing leads at all; but k goes on from one of its calls to the next.
func TestOneFunctionByPointers(t *testing.T) {
	m := &target.Module{Image: codetest.Program{CPU: "x86_64", Listing: `
	400000 <h>:
		400000: c3              ret
		400010: 50              push %rax
		400011: e8 ea ff ff ff  call 400000
		400016: e8 e5 ff ff ff  call 400000
		40001b: 58              pop  %rax
		40001c: c3              ret
		400030: 50              push %rax
		400031: e8 ca ff ff ff  call 400000
		400036: 58              pop  %rax
		400037: c3              ret
		400050: 50              push %rax
		400051: e8 aa ff ff ff  call 400000
		400056: e8 a5 ff ff ff  call 400000
		40005b: 58              pop  %rax
		40005c: c3              ret`, Data: map[uint64][]uint64{0x401000: {0x400010, 0x400030}}}.Image(t)}
	for _, c := range []struct {
		a, b uint64
		want stackwalk.Answer
	}{{0x400011, 0x400016, stackwalk.Yes}, {0x400011, 0x400031, stackwalk.No}, {0x400051, 0x400056, stackwalk.Yes}, {0x400051, 0x400031, stackwalk.Unknown}} {
		if got := New(nil).OneFunction(m, c.a, c.b, 0); got != c.want {
			t.Errorf("%#x and %#x are in one function: %v", c.a, c.b, got)
		}
	}
}

// TestStartsFunction: a return address that a pointer to a function would look like.
func TestStartsFunction(t *testing.T) {
	m := dies(t)
	for _, c := range []struct {
		what        string
		pc, callees uint64
		want        bool
	}{
		{"g, behind a call that never returns", 0x400020, 0x400040, true},
		{"the same behind a call that comes back: the caller goes on there", 0x400020, 0x400020, false},
		{"amid f", 0x40000d, 0x400020, false},
		{"filler in front of l, behind k's call that never returns, at an address that j takes", 0x400065, 0x400040, false},
	} {
		site := cpu.CallSite{Direct: true, Target: c.callees + m.Bias}
		if got := New(nil).StartsFunction(m, c.pc+m.Bias, 0, site); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	if !New(nil).StartsFunction(m, 0x400020+m.Bias, 0, cpu.CallSite{}) {
		t.Error("an indirect call may never return")
	}
}
