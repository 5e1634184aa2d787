package stackwalk_test

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// The program of these tests, MIPS o32 big-endian: main calls f, f calls g, g is a
// leaf. h calls through a register. Behind a call, and its delay slot, is where a
// frame resumes.
//
//	main 0x400000   0x400010 jal f      back at 0x400018
//	f    0x400100   0x400110 jal g      back at 0x400118
//	g    0x400200
//	h    0x400300   0x400310 jalr t9    back at 0x400318
const (
	mainEntry, inMain = 0x400000, 0x400018
	fEntry, inF       = 0x400100, 0x400118
	gEntry, inG       = 0x400200, 0x400208
	hEntry, inH       = 0x400300, 0x400318
	trampoline        = 0x400400
)

func o32() *cpu.Arch {
	for _, a := range mips.Archs() {
		if a.ABI == "o32" && a.BigEndian {
			return a
		}
	}
	panic("no o32")
}

func program(arch *cpu.Arch) *target.Module { return programWith(arch, inG, 0) }

// programWith is the program with another instruction at a place.
func programWith(arch *cpu.Arch, at uint64, insn uint32) *target.Module {
	code := synth.Stack(arch).Zero(0x500).Place(0x400000)
	for at := range 0x500 / 4 {
		code.Data[4*at+3] = 0x25 // move zero,zero: text of nothing but zero was cleared
	}
	put := func(at uint64, w uint32) {
		for i := range 4 {
			code.Data[at-0x400000+uint64(i)] = byte(w >> (24 - 8*i))
		}
	}
	put(inMain-8, 0x0c000000|fEntry>>2)
	put(inF-8, 0x0c000000|gEntry>>2)
	put(inH-8, 0x0320f809) // jalr t9
	put(at, insn)
	return synth.Module(arch, code.Base, code.Data)
}

// rules is a source that has a list of answers for each place: its PC, or where it
// resumes.
type rules struct {
	method unwind.Method
	at     map[uint64][]stackwalk.Rule
	ends   map[uint64]bool
	asked  *int
	// known: answers where the function's entry is stated, too.
	known bool
}

func (r rules) Method() unwind.Method { return r.method }

func (r rules) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if r.asked != nil {
		*r.asked++
	}
	answers := r.at[q.Resume]
	switch {
	case r.ends[q.Resume]:
		return unwind.EndOfStack
	case q.Try >= len(answers) || q.HasEntry && !r.known:
		return unwind.NotCovered
	}
	*out = answers[q.Try]
	return unwind.Found
}

// leaf is the rule of a function without a frame: CFA=sp RA=ra.
func leaf(arch *cpu.Arch, flags stackwalk.RuleFlags) stackwalk.Rule {
	return framed(arch, 0, stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: arch.LR}, flags)
}

// saved is the rule of a function with a frame: CFA=sp+size RA=[CFA-4].
func saved(arch *cpu.Arch, size int64, flags stackwalk.RuleFlags) stackwalk.Rule {
	return framed(arch, size, stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -int64(arch.RegSize)}, flags)
}

func framed(arch *cpu.Arch, size int64, ra stackwalk.RegRule, flags stackwalk.RuleFlags) (r stackwalk.Rule) {
	r.Reset()
	r.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: arch.SP, Off: size}
	r.RA, r.Flags = ra, flags
	return r
}

// tables is a source like CFI that knows all frames of the program.
func tables(arch *cpu.Arch, method unwind.Method, flags stackwalk.RuleFlags) rules {
	return rules{method: method, ends: map[uint64]bool{inMain: true}, at: map[uint64][]stackwalk.Rule{
		inG: {leaf(arch, flags)}, inF: {saved(arch, 32, flags)}, inH: {saved(arch, 24, flags)},
	}}
}

// stackOf is the stack of g called by f called by main, as tables describes it.
func stackOf(arch *cpu.Arch) synth.Placed {
	return synth.Stack(arch).
		Label("f").Zero(28).Word(inMain).
		Label("main").Zero(64).
		Place(0x7fff_0000)
}

// stopped is the program stopped in g.
func stopped(arch *cpu.Arch, stack synth.Placed) *target.Snapshot {
	snap := synth.Capture(arch, []*target.Module{program(arch)}, stack)
	regs := synth.Regs(arch, map[string]uint64{"pc": inG, "sp": stack.Base, "ra": inF})
	snap.Threads = []target.Thread{{ID: 1, Regs: *regs}}
	return snap
}

// graph answers from a table of entries by place; an indirect call goes to callee, or where
// calleeAt says by its site.
type graph struct {
	holds    func(entry, pc uint64) stackwalk.Answer
	callee   uint64
	calleeAt map[uint64]uint64
	mayCall  map[uint64]stackwalk.Answer
	stubs    map[uint64]uint64 // where they go
	// syscall is the place behind one, threadEnd where a thread ends.
	syscall, threadEnd uint64
	blind              bool // to where functions end
	// unpointed is a function that no pointer leads to.
	unpointed uint64
	// misleads is a return address, behind a call through a pointer that cannot lead to the function with the place.
	misleads [2]uint64
	pointed  stackwalk.Answer // of other functions
	// abandons is a place from which the code goes on in a frame further out.
	abandons uint64
	// callers are the return addresses of all calls of a function, by where it begins.
	callers map[uint64][]uint64
	// callsTo are calls that may lead to a function, by where that begins; system is where system calls begin.
	callsTo map[uint64][]uint64
	system  []uint64
	// arguments are what functions hold of what they were passed, by where they begin; passes is what calls pass in
	// the register that names them, by return address.
	arguments map[uint64][]stackwalk.Argument
	// leaves: the way out at a return address is that of an exception, or of a call.
	leaves map[uint64]stackwalk.Answer
	passes map[uint64]map[cpu.Reg]stackwalk.Operand
}

func (f graph) Reaches(_ *target.Snapshot, entry uint64, _ cpu.Mode, pc uint64) (stackwalk.Answer, bool, uint64) {
	return f.holds(entry, pc), true, 0
}

func (f graph) Stub(_ *target.Snapshot, entry uint64, _ cpu.Mode, _ uint64) (uint64, bool) {
	to, ok := f.stubs[entry]
	return to, ok
}

func (graph) Binds(*target.Snapshot, uint64, cpu.Mode, uint64) bool { return false }

func (f graph) EndsThread(_ *target.Module, pc uint64, _ cpu.Mode) bool { return pc == f.threadEnd }

func (graph) SoleCall(*target.Snapshot, *unwind.Frame, *unwind.Frame) bool { return false }

func (graph) MayJump(*target.Snapshot, *unwind.Frame, *unwind.Frame) bool { return false }

func (graph) Shadows(*target.Module, uint64, cpu.Mode, bool, cpu.Reg) (int64, bool) { return 0, false }
func (graph) Entered(*target.Snapshot, cpu.CallSite) []stackwalk.Rule               { return nil }
func (graph) LeafFrames(*target.Snapshot, cpu.CallSite, cpu.Mode) (none [stackwalk.MaxLeafFrames]int64) {
	return none
}
func (graph) KeepsReturnAt(*target.Snapshot, cpu.CallSite, cpu.Mode, int64) bool { return true }

func (graph) StartHandsOn(*target.Module, uint64, uint64, uint64, cpu.Mode) bool { return false }

func (f graph) BehindSyscall(_ *target.Module, pc uint64, _ cpu.Mode) bool { return pc == f.syscall }

func (f graph) LeavesException(_ *target.Module, pc uint64, _ cpu.Mode) stackwalk.Answer {
	return f.leaves[pc]
}

func (f graph) Abandons(q *stackwalk.Query) bool { return q.Resume == f.abandons }

func (f graph) CalledByPointer(_ *target.Module, pc uint64, _ cpu.Mode) stackwalk.Answer {
	if f.unpointed != 0 && pc&^0xff == f.unpointed {
		return stackwalk.No
	}
	return f.pointed
}

func (f graph) MayLead(_ *target.Module, ra uint64, _ cpu.Mode, _ *target.Module, pc uint64) stackwalk.Answer {
	if f.misleads[0] != 0 && f.misleads == [2]uint64{ra, pc &^ 0xff} {
		return stackwalk.No
	}
	return stackwalk.Unknown
}

func (f graph) Callers(snap *target.Snapshot, _ *target.Module, pc uint64, _ cpu.Mode) stackwalk.Calls {
	if snap != nil {
		return stackwalk.Calls{Returns: f.callsTo[pc&^0xff], System: slices.Index(f.system, pc&^0xff)}
	}
	returns, all := f.callers[pc&^0xff]
	return stackwalk.Calls{Returns: returns, All: all}
}

func (f graph) Arguments(_ *target.Module, pc uint64, _ cpu.Mode, _ bool) []stackwalk.Argument {
	return f.arguments[pc&^0xff]
}

func (f graph) Passes(_ *target.Module, ra uint64, _ cpu.Mode, r cpu.Reg) stackwalk.Operand {
	return f.passes[ra][r]
}

// OneFunction: functions begin at multiples of 0x100; blind: nobody knows.
func (f graph) OneFunction(_ *target.Module, a, b uint64, _ cpu.Mode) stackwalk.Answer {
	if f.blind {
		return stackwalk.Unknown
	}
	return sameHundred(a&^0xff, b)
}

func (f graph) StartsFunction(_ *target.Module, pc uint64, _ cpu.Mode, _ cpu.CallSite) bool {
	return pc&0xff == 0
}

func (f graph) MayCall(_ *target.Snapshot, site uint64, _ cpu.Mode, _ uint64) stackwalk.Answer {
	return f.mayCall[site]
}

func (f graph) Callee(_ *target.Snapshot, site uint64, _ cpu.Mode) (uint64, cpu.Mode, bool) {
	to := cmp.Or(f.calleeAt[site], f.callee)
	return to, 0, to != 0
}

// sameHundred: functions begin at multiples of 0x100.
func sameHundred(entry, pc uint64) stackwalk.Answer {
	if pc&^0xff == entry {
		return stackwalk.Yes
	}
	return stackwalk.No
}

func unknownTargets(uint64, uint64) stackwalk.Answer { return stackwalk.Unknown }
