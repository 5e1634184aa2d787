package code_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// stopped is a thread of a program without tables.
type stopped struct {
	what  string
	waits bool // in the call before pc, as tasks of real-time kernels do
	regs  map[string]uint64
	stack func(*synth.Assembler)
	want  string // the addresses of the frames, and how sure each is
}

const stackAt = 0x7fff0000

// walk compares the walks through stacks of a program with what is wanted; by all sources where none is named.
func walk(t *testing.T, p codetest.Program, threads []stopped, sources ...backsight.Source) {
	t.Helper()
	img := p.Image(t)
	text := img.Segments[0]
	m := &target.Module{Name: "program", Range: target.Range{Lo: text.Addr, Hi: text.Addr + text.Size}, Image: img}
	u, err := backsight.NewUnwinder(backsight.Options{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range threads {
		stack := synth.Stack(img.Arch)
		s.stack(stack)
		snap := synth.Capture(img.Arch, []*target.Module{m}, stack.Place(stackAt))
		regs := synth.Regs(img.Arch, s.regs)
		if _, ok := regs.Lookup(img.Arch.SP); !ok {
			regs.Set(img.Arch.SP, stackAt)
		}
		if p.Mode != 0 && img.Arch.Status != cpu.NoReg {
			regs.Set(img.Arch.Status, 1<<img.Arch.StatusModeBit)
		}
		snap.Threads = []target.Thread{{Regs: *regs, Standing: target.Standing{Waits: s.waits}}}
		all, err := u.Backtraces(t.Context(), snap)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range all[0].Frames {
			got = append(got, fmt.Sprintf("%x/%s", f.PC, f.Trust))
		}
		if got := strings.Join(got, " "); got != s.want {
			t.Errorf("%s: %s: %s, want %s", p.CPU, s.what, got, s.want)
		}
	}
}

// TestRetpolines: gcc -mindirect-branch=thunk -mfunction-return=thunk. work calls callback through a thunk, and callback
// returns through another. A thunk calls what overwrites or drops the return address of that call.
func TestRetpolines(t *testing.T) {
	walk(t, codetest.Program{CPU: "x86_64", Entry: 0x400000, Data: map[uint64][]uint64{0x410000: {0x400020}}, Listing: `
		400000: e8 2b 00 00 00        call 400030
		400005: f4                    hlt
		400020: 8b 07                 mov  (%rdi),%eax         callback
		400022: e9 39 00 00 00        jmp  400060
		400030: 53                    push %rbx                work
		400031: 48 8b 05 c8 ff 00 00  mov  0xffc8(%rip),%rax
		400038: e8 43 00 00 00        call 400080
		40003d: 01 c3                 add  %eax,%ebx
		40003f: 5b                    pop  %rbx
		400040: e9 1b 00 00 00        jmp  400060
		400060: e8 07 00 00 00        call 40006c              __x86_return_thunk
		400065: f3 90                 pause
		400067: 0f ae e8              lfence
		40006a: eb f9                 jmp  400065
		40006c: 48 8d 64 24 08        lea  8(%rsp),%rsp
		400071: c3                    ret
		400080: e8 07 00 00 00        call 40008c              __x86_indirect_thunk_rax
		400085: f3 90                 pause
		400087: 0f ae e8              lfence
		40008a: eb f9                 jmp  400085
		40008c: 48 89 04 24           mov  %rax,(%rsp)
		400090: c3                    ret`},
		[]stopped{
			{"in callback", false, map[string]uint64{"rip": 0x400020}, func(s *synth.Assembler) { s.Words(0x40003d, 7, 0x400005) },
				"400020/certain 40003d/certain 400005/certain"},
			{"at callback's jump", false, map[string]uint64{"rip": 0x400022}, func(s *synth.Assembler) { s.Words(0x40003d, 7, 0x400005) },
				"400022/certain 40003d/certain 400005/certain"},
			{"at the thunk's call", false, map[string]uint64{"rip": 0x400060}, func(s *synth.Assembler) { s.Words(0x40003d, 7, 0x400005) },
				"400060/certain 40003d/certain 400005/certain"},
			{"where the address is dropped", false, map[string]uint64{"rip": 0x40006c}, func(s *synth.Assembler) { s.Words(0x400065, 0x40003d, 7, 0x400005) },
				"40006c/certain 40003d/certain 400005/certain"},
			{"behind that", false, map[string]uint64{"rip": 0x400071}, func(s *synth.Assembler) { s.Words(0x40003d, 7, 0x400005) },
				"400071/certain 40003d/certain 400005/certain"},
			{"at the other thunk's call", false, map[string]uint64{"rip": 0x400080, "rax": 0x400020}, func(s *synth.Assembler) { s.Words(0x40003d, 7, 0x400005) },
				"400080/certain 40003d/likely 400005/certain"},
			{"where the address is overwritten", false, map[string]uint64{"rip": 0x40008c, "rax": 0x400020}, func(s *synth.Assembler) { s.Words(0x400085, 0x40003d, 7, 0x400005) },
				"40008c/certain 40003d/likely 400005/certain"},
			{"behind that", false, map[string]uint64{"rip": 0x400090, "rax": 0x400020}, func(s *synth.Assembler) { s.Words(0x400020, 0x40003d, 7, 0x400005) },
				"400090/certain 40003d/likely 400005/certain"},
		})
}

// TestProbedStack: __rust_probestack, as compiler-builtins had it out of line: SP goes down page by page while r11 is counted
// down from rax, the size of the frame to come. f has rbx pushed.
func TestProbedStack(t *testing.T) {
	const size, left = 0x5800, 0x2800
	regs := func(pc, r11 uint64) map[string]uint64 { return map[string]uint64{"rip": pc, "rax": size, "r11": r11} }
	frames := func(below int) func(*synth.Assembler) {
		return func(s *synth.Assembler) { s.Zero(below).Words(0x40004b, 7, 0x400005) }
	}
	walk(t, codetest.Program{CPU: "x86_64", Entry: 0x400000, Listing: `
		400000: e8 3b 00 00 00           call 400040
		400005: f4                       hlt
		400010: 49 89 c3                 mov  %rax,%r11           probestack
		400013: 49 81 fb 00 10 00 00     cmp  $0x1000,%r11
		40001a: 76 1c                    jbe  400038
		40001c: 48 81 ec 00 10 00 00     sub  $0x1000,%rsp
		400023: 48 85 64 24 08           test %rsp,8(%rsp)
		400028: 49 81 eb 00 10 00 00     sub  $0x1000,%r11
		40002f: 49 81 fb 00 10 00 00     cmp  $0x1000,%r11
		400036: 77 e4                    ja   40001c
		400038: 4c 29 dc                 sub  %r11,%rsp
		40003b: 48 01 c4                 add  %rax,%rsp
		40003e: c3                       ret
		400040: 53                       push %rbx                f
		400041: b8 00 58 00 00           mov  $0x5800,%eax
		400046: e8 c5 ff ff ff           call 400010
		40004b: 48 29 c4                 sub  %rax,%rsp
		40004e: 48 81 c4 00 58 00 00     add  $0x5800,%rsp
		400055: 5b                       pop  %rbx
		400056: c3                       ret`},
		[]stopped{
			{"on entry", false, regs(0x400010, 0), frames(0), "400010/certain 40004b/certain 400005/certain"},
			{"a page was touched", false, regs(0x400028, left), frames(size - left + 0x1000), "400028/certain 40004b/likely 400005/likely"},
			{"and counted", false, regs(0x40002f, left), frames(size - left), "40002f/certain 40004b/likely 400005/likely"},
			{"all are touched", false, regs(0x40003b, left), frames(size), "40003b/certain 40004b/likely 400005/likely"},
			{"r11 is not known", false, map[string]uint64{"rip": 0x400028, "rax": size}, frames(size - left + 0x1000), "400028/certain 40004b/guess 400005/guess"},
		})
}

// TestBehindCall: a task that never returns saves no return address. Where it goes on behind a call, the link register holds
// that place itself, which is no caller.
func TestBehindCall(t *testing.T) {
	none := func(s *synth.Assembler) { s.Zero(64) }
	walk(t, codetest.Program{CPU: "riscv32 ilp32", Data: map[uint64][]uint64{0x80001000: {0x80000010}}, Listing: `
		80000000: 8082       ret                 delay
		80000010: 1141       addi sp,sp,-16      task
		80000012: c422       sw   s0,8(sp)
		80000014: 842a       mv   s0,a0
		80000016: 37ed       jal  80000000
		80000018: 4008       lw   a0,0(s0)
		8000001a: 37dd       jal  80000000
		8000001c: bfed       j    80000016`},
		[]stopped{
			{"waits", true, map[string]uint64{"pc": 0x80000018, "ra": 0x80000018}, none, "80000018/certain"},
			{"stopped there", false, map[string]uint64{"pc": 0x80000018, "ra": 0x80000018}, none, "80000018/certain"},
			{"further on", false, map[string]uint64{"pc": 0x8000001a, "ra": 0x80000018}, none, "8000001a/certain"},
			{"waits in the second", true, map[string]uint64{"pc": 0x8000001c, "ra": 0x8000001c}, none, "8000001c/certain"},
		})
}

// outlined is the table of clang 19 for the functions that it outlined: they begin and end as all do. f's is right behind its calls.
type outlined struct{}

func (outlined) Method() unwind.Method { return unwind.MethodCFI }

func (outlined) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	frame := int64(0)
	out.Flags |= stackwalk.StartStated
	switch out.Start = q.PC &^ 15; {
	case q.PC < 0x400010:
		return unwind.EndOfStack
	case out.Start == 0x400010 && q.PC >= 0x400012:
		frame = 32
	case out.Start == 0x400020:
		out.Start, frame = 0x400010, 32
	}
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: q.Arch.SP, Off: frame}
	out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: q.Arch.LR}
	if frame > 0 && q.PC >= 0x400016 {
		out.RA = stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -8}
	}
	return unwind.Found
}

// TestOutlined: clang -Oz for RISC-V puts what the prologues of several functions have in common into a function of its own, which
// is called by t0, and the same for epilogues. Its table says CFA=sp RA=ra, while the code goes on in f's frame.
func TestOutlined(t *testing.T) {
	saved := func(s *synth.Assembler) { s.Words(0, 0, 7, 0x400004, 0) }
	unsaved := func(s *synth.Assembler) { s.Words(0, 0, 0, 0, 0) }
	program := codetest.Program{CPU: "riscv64", Entry: 0x400000, Listing: `
		400000: 010000ef      jal  400010
		400004: a001          j    400004
		400010: 1101          addi sp,sp,-32     f
		400012: 01e002ef      jal  t0,400030
		400016: 4405          li   s0,1
		400018: 038000ef      jal  400050
		40001c: 024002ef      jal  t0,400040
		400020: 8082          ret
		400030: ec06          sd   ra,24(sp)     OUTLINED_FUNCTION_0
		400032: e822          sd   s0,16(sp)
		400034: 8282          jr   t0
		400040: 60e2          ld   ra,24(sp)     OUTLINED_FUNCTION_1
		400042: 6442          ld   s0,16(sp)
		400044: 6105          addi sp,sp,32
		400046: 8282          jr   t0
		400050: 8082          ret`}
	threads := []stopped{
		{"before ra is saved", false, map[string]uint64{"pc": 0x400030, "ra": 0x400004, "t0": 0x400016}, unsaved, "400030/certain 400004/likely"},
		{"behind that", false, map[string]uint64{"pc": 0x400034, "ra": 0x400004, "t0": 0x400016}, saved, "400034/certain 400004/likely"},
		{"before ra is loaded", false, map[string]uint64{"pc": 0x400040, "ra": 0x40001c, "t0": 0x400020}, saved, "400040/certain 400004/certain"},
		{"the frame is gone", false, map[string]uint64{"pc": 0x400046, "ra": 0x400004, "t0": 0x400020}, unsaved, "400046/certain 400004/certain"},
		{"in f's call", false, map[string]uint64{"pc": 0x400050, "ra": 0x40001c}, saved, "400050/certain 40001c/certain 400004/certain"},
	}
	walk(t, program, threads, backsight.Source{Name: "table", Source: outlined{}}, backsight.Source{Name: "code", Source: code.New(nil)})
	for i := range threads {
		threads[i].want = strings.ReplaceAll(threads[i].want, "likely", "certain")
	}
	walk(t, program, threads)
}
