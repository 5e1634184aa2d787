// Package mutate damages the evidence in good captures and looks at what becomes of
// the backtraces: the frames inner to the damage must stay, and whatever is wrong
// then must not be certain. Wrong is every frame whose PC is not the recorded one.
//
// Not every lie can be seen: a return address replaced by another one behind a call
// of the same function tells a story without a flaw, also where the function came to
// its frame by a jump from another function. Damage of that kind is not done.
package mutate

import (
	"math/rand/v2"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// Damage is a way to spoil a capture.
type Damage struct {
	Name string
	// apply returns a damaged copy and the lowest stack address that is spoilt;
	// nil where the capture offers nothing to spoil.
	apply func(v *victim) (*target.Snapshot, uint64)
}

// victim is a good capture with its truth.
type victim struct {
	snap   *target.Snapshot
	answer *truth.Answer
	seen   activations
	rnd    *rand.Rand
}

// activations are all that were recorded of a program: where each was entered, and its PC.
type activations map[activation]bool

type activation struct{ entry, pc uint64 }

func seen(answers []truth.Answer) activations {
	all := make(activations)
	for i := range answers {
		for _, f := range answers[i].Frames {
			all[activation{uint64(f.Entry), uint64(f.PC)}] = true
		}
	}
	return all
}

// both tells whether the function that f was entered at has also been seen at the PC of g.
func (a activations) both(f, g *truth.Frame) bool {
	return a[activation{uint64(f.Entry), uint64(g.PC)}]
}

// nowhere: no stack address is spoilt, but what is left may be anything.
const nowhere = 0

// Damages are all ways.
func Damages() []Damage {
	return []Damage{
		{"drop the module", (*victim).dropModule},
		{"cut the stack", (*victim).cut},
		{"flip a bit", (*victim).flip},
		{"flip eight words", (*victim).flipMany},
		{"return address 0", func(v *victim) (*target.Snapshot, uint64) { return v.overwrite(0) }},
		{"return address random", func(v *victim) (*target.Snapshot, uint64) { return v.overwrite(v.rnd.Uint64()) }},
		{"return address = a function", (*victim).functionAsReturn},
		{"return address of another call", (*victim).otherReturn},
		{"registers but PC and SP unknown", (*victim).forget},
	}
}

// copy is a snapshot with the same contents and other memory.
func (v *victim) copy(mem *target.Memory) *target.Snapshot {
	s := *v.snap
	s.Threads = append([]target.Thread(nil), s.Threads...)
	for i := range s.Threads {
		s.Threads[i].Stack = target.Range{}
	}
	s.Memory = mem
	return &s
}

// with is the memory with patches over it.
func (v *victim) with(patches map[uint64][]byte) *target.Memory {
	var b target.Builder
	for _, s := range v.snap.Memory.Segments() {
		b.Add(s.Addr, s.Data, s.Rest, s.Perm)
	}
	for addr, data := range patches {
		perm, _ := v.snap.Memory.PermAt(addr)
		b.Add(addr, data, 0, perm)
	}
	return b.Memory(v.snap.Arch)
}

func (v *victim) dropModule() (*target.Snapshot, uint64) {
	s := v.copy(v.snap.Memory)
	s.Modules = nil
	return s, nowhere
}

// frame picks an activation whose CFA is known and that has one further out.
func (v *victim) frame() (i int, cfa uint64, ok bool) {
	n := len(v.answer.Frames) - 1
	if n < 1 {
		return 0, 0, false
	}
	i = v.rnd.IntN(n)
	if v.answer.Frames[i].CFA == nil {
		return 0, 0, false
	}
	return i, uint64(*v.answer.Frames[i].CFA), true
}

// cut ends the captured stack at the CFA of a frame.
func (v *victim) cut() (*target.Snapshot, uint64) {
	_, cfa, ok := v.frame()
	if !ok {
		return nil, 0
	}
	var b target.Builder
	for _, s := range v.snap.Memory.Segments() {
		if cfa-s.Addr < uint64(len(s.Data)) {
			s.Data = s.Data[:cfa-s.Addr]
		}
		b.Add(s.Addr, s.Data, 0, s.Perm)
	}
	return v.copy(b.Memory(v.snap.Arch)), cfa
}

// stack is the range of captured stack between SP and the outermost known CFA.
func (v *victim) stack() (lo, hi uint64, ok bool) {
	sp, ok := v.snap.Threads[0].Regs.Lookup(v.snap.Arch.SP)
	lo = sp & v.snap.Arch.AddrMask() &^ 7
	for _, f := range v.answer.Frames {
		if f.CFA != nil {
			hi = max(hi, uint64(*f.CFA))
		}
	}
	return lo, hi, ok && hi >= lo+64
}

func (v *victim) flip() (*target.Snapshot, uint64) { return v.flips(1) }

func (v *victim) flipMany() (*target.Snapshot, uint64) { return v.flips(8) }

// flips inverts one bit in each of n bytes of the stack.
func (v *victim) flips(n int) (*target.Snapshot, uint64) {
	lo, hi, ok := v.stack()
	if !ok {
		return nil, 0
	}
	patches := map[uint64][]byte{}
	least := ^uint64(0)
	for range n {
		a := lo + v.rnd.Uint64N(hi-lo)
		if b := v.snap.Memory.Bytes(a); b != nil {
			patches[a] = []byte{b[0] ^ 1<<v.rnd.IntN(8)}
			least = min(least, a)
		}
	}
	return v.copy(v.with(patches)), least
}

// slots are the stack words that hold the return address of frame i, within its
// frame. Where it was never stored there are none.
func (v *victim) slots(i int) []uint64 {
	f := v.answer.Frames
	lo, _, ok := v.stack()
	if i > 0 {
		lo = uint64(*f[i-1].CFA)
	}
	if !ok {
		return nil
	}
	return v.copies(uint64(f[i+1].PC), lo, uint64(*f[i].CFA))
}

// copies are the captured words from lo to hi that hold the code address pc. Between
// an alternate stack and the thread's lie gigabytes that were not captured.
func (v *victim) copies(pc, lo, hi uint64) (found []uint64) {
	a := v.snap.Arch
	size := uint64(a.AddrSize)
	for _, s := range v.snap.Memory.Segments() {
		for p := max(lo, (s.Addr+size-1)&^(size-1)); p < min(hi, s.Addr+uint64(len(s.Data))); p += size {
			if w, ok := v.snap.Memory.Uint(p, a.RegSize); ok && w&a.AddrMask()&^1 == pc&^1 {
				found = append(found, p)
			}
		}
	}
	return found
}

// overwrite replaces every copy of one frame's return address.
func (v *victim) overwrite(value uint64) (*target.Snapshot, uint64) {
	i, _, ok := v.frame()
	if !ok || i > 0 && v.answer.Frames[i-1].CFA == nil {
		return nil, 0
	}
	slots := v.slots(i)
	if len(slots) == 0 {
		return nil, 0
	}
	patches := map[uint64][]byte{}
	for _, p := range slots {
		patches[p] = word(v.snap.Arch, value)
	}
	s := v.copy(v.with(patches))
	if i == 0 {
		s.Threads[0].Regs.Forget(v.snap.Arch.LR) // it may hold another copy
	}
	return s, slots[0]
}

func word(a *cpu.Arch, v uint64) []byte {
	b := make([]byte, a.RegSize)
	for i := range b {
		k := i
		if a.BigEndian {
			k = len(b) - 1 - i
		}
		b[k] = byte(v >> (8 * i))
	}
	return b
}

// functionAsReturn puts a function's entry where a return address belongs.
func (v *victim) functionAsReturn() (*target.Snapshot, uint64) {
	f := v.answer.Frames
	return v.overwrite(uint64(f[v.rnd.IntN(len(f))].Entry))
}

// otherReturn puts the return address of another activation there, of a direct call
// that goes to another function. (An indirect call could have gone anywhere.) Entries
// that differ do not tell that: busybox' ash on x86-64 calls a function that ends with a
// jump to evaltree, whose frame lies there then as if evaltree had been called. So
// nothing that was called where the other call goes may have been seen at the frame's PC.
func (v *victim) otherReturn() (*target.Snapshot, uint64) {
	f := v.answer.Frames
	i, j := v.rnd.IntN(len(f)), v.rnd.IntN(len(f))
	if !v.ordinary(i) || !v.ordinary(j) || v.seen.both(&f[j], &f[i]) || f[i+1].PC == f[j+1].PC {
		return nil, 0
	}
	from, to := v.slots(j), v.slots(i)
	if len(from) == 0 || len(to) == 0 {
		return nil, 0
	}
	ra, _ := v.snap.Memory.Uint(from[0], v.snap.Arch.RegSize)
	pc, mode := v.snap.Arch.SplitCode(ra)
	if site, ok := callsite.Before(v.snap, pc, mode); ok != callsite.Call || !site.Direct {
		return nil, 0
	}
	patches := map[uint64][]byte{}
	for _, p := range to {
		patches[p] = word(v.snap.Arch, ra)
	}
	return v.copy(v.with(patches)), to[0]
}

// ordinary: frame i was called, and the bounds of its frame are known.
func (v *victim) ordinary(i int) bool {
	f := v.answer.Frames
	return i+1 < len(f) && f[i].CFA != nil && (i == 0 || f[i-1].CFA != nil) && f[i].Kind != "sigtramp" && f[i].Kind != "interrupted"
}

// inner is how many frames do not depend on the stack at from and above: frame i+1
// follows from what lies below the CFA of frame i, if its PC is there at all.
func (v *victim) inner(from uint64) int {
	n, f := 1, v.answer.Frames
	if from == nowhere {
		return n
	}
	for i := range f {
		if f[i].CFA == nil || i+1 == len(f) || uint64(*f[i].CFA)+beyond(v.answer, i) > from || !v.known(i) {
			break
		}
		n++
	}
	return n
}

// known tells whether the PC of the frame around frame i stands in the link register
// or below the CFA of frame i. Behind AArch64's __longjmp has loaded the registers of
// its target it stands nowhere: the caller follows from what lies further out.
func (v *victim) known(i int) bool {
	a, ra := v.snap.Arch, uint64(v.answer.Frames[i+1].PC)
	if lr, ok := v.snap.Threads[0].Regs.Lookup(a.LR); ok && lr&^1 == ra&^1 {
		return true
	}
	lo, _, ok := v.stack()
	return ok && len(v.copies(ra, lo, uint64(*v.answer.Frames[i].CFA))) > 0
}

// beyond is how far above its CFA a frame's caller depends on the stack: behind the
// outermost frame of a Cortex-M handler lies the hardware's exception frame, of 0x68
// bytes at most and an aligner.
func beyond(a *truth.Answer, i int) uint64 {
	if i+1 < len(a.Frames) && a.Frames[i+1].Kind == "interrupted" && a.Frames[i].Kind != "sigtramp" {
		return 0x68 + 4
	}
	return 0
}

// forget leaves PC, SP and the mode only, as logs of some systems do.
func (v *victim) forget() (*target.Snapshot, uint64) {
	s := v.copy(v.snap.Memory)
	a := s.Arch
	s.Threads[0].Regs.Known &= cpu.SetOf(a.PC, a.SP, a.Status)
	return s, nowhere
}
