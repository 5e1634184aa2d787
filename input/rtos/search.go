package rtos

import (
	"cmp"
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// search looks for tasks in one program's memory.
type search struct {
	snap *target.Snapshot
	mem  *target.Memory
	word uint64 // the size of one
	ram  []target.Range
	// pointers are the addresses of words that point to memory.
	pointers []uint64
}

func newSearch(snap *target.Snapshot) *search {
	s := &search{snap: snap, mem: snap.Memory, word: uint64(snap.Arch.RegSize)}
	for _, seg := range snap.Memory.Segments() {
		r := target.Range{Lo: seg.Addr, Hi: seg.Addr + seg.Size()}
		if n := len(s.ram); n > 0 && s.ram[n-1].Hi == r.Lo {
			s.ram[n-1].Hi = r.Hi
			continue
		}
		s.ram = append(s.ram, r)
	}
	s.findPointers()
	return s
}

// ramOf is the run of memory that holds an address.
func (s *search) ramOf(addr uint64) (target.Range, bool) {
	for _, r := range s.ram {
		if r.Contains(addr) {
			return r, true
		}
	}
	return target.Range{}, false
}

// suspect is a word that may be the saved SP of a task, and what it points to.
type suspect struct {
	block, saved uint64
	ctx          registers
}

// Bounds of the search: the words that are tried, of each layout the suspects that are kept,
// and the tasks that are made of them.
const (
	maxPointers = 1 << 20
	maxSuspects = 1 << 13
	maxMade     = 1 << 17
)

// findPointers finds the words of memory that point to memory: one of them is the saved SP of
// each task.
func (s *search) findPointers() {
	for _, seg := range s.mem.Segments() {
		lo := (seg.Addr + s.word - 1) &^ (s.word - 1)
		hi := seg.Addr + uint64(len(seg.Data))
		for at := lo; at+s.word <= hi && len(s.pointers) < maxPointers; at += s.word {
			sp, ok := s.mem.Uint(at, int(s.word))
			if !ok || sp%s.word != 0 || sp == 0 {
				continue
			}
			if _, ok := s.ramOf(sp); ok {
				s.pointers = append(s.pointers, at)
			}
		}
	}
}

// suspects are the words of memory that point to a context.
func (s *search) suspects(l *compiled) (out []suspect) {
	inBlock := len(l.before)+len(l.after) > 0 || l.returnAt != 0
	var none uint64 // an address at which no context lies: memory is full of one pointer at times
	for _, at := range s.pointers {
		sp, _ := s.mem.Uint(at, int(s.word))
		if sp == none || len(out) == maxSuspects {
			continue
		}
		if ctx, ok := l.read(s.mem, at, sp); ok && s.resumes(&ctx) {
			out = append(out, suspect{at, sp, ctx})
		} else if !inBlock {
			none = sp
		}
	}
	return out
}

// resumes tells whether a program can go on with a context: at a place in code, with a
// return address that is one or that the kernel put there for a task's function to end in.
func (s *search) resumes(ctx *registers) bool {
	arch := s.snap.Arch
	raw, ok := ctx.regs.Lookup(arch.PC)
	pc, _ := arch.SplitCode(raw)
	if !ok || !s.code(pc) {
		return false
	}
	sp := ctx.regs.Val[arch.SP]
	if sp%s.word != 0 {
		return false
	}
	if _, ok := s.ramOf(sp - 1); !ok {
		return false
	}
	lr, ok := ctx.regs.Lookup(arch.LR)
	if !ok {
		return s.follows(raw) // the switch is a call
	}
	if _, micro := arch.Layouts[cpu.CortexMFrame]; micro {
		return true // the frame's xPSR has told
	}
	at, _ := arch.SplitCode(lr)
	return lr == 0 || s.code(at)
}

// code tells whether an address is one of an instruction.
func (s *search) code(pc uint64) bool {
	if pc%s.snap.Arch.InsnAlign != 0 {
		return false
	}
	m, ok := s.snap.ModuleAt(pc)
	return ok && m.Image != nil && m.Image.Executable(m.ToImage(pc))
}

// follows tells whether a call stands before a return address.
func (s *search) follows(raw uint64) bool {
	pc, mode := s.snap.Arch.SplitCode(raw)
	_, kind := callsite.Before(s.snap, pc, mode)
	return kind == callsite.Call
}

// shape says how a control block bounds the task's stack: the words at these distances from
// the word with the saved SP, in words, have the low end and, unless owner, the size or the
// high end.
type shape struct {
	lo, other int
	// high: the other word is the high end.
	high bool
	// owner: the block is that of FreeRTOS, whose list items point back to the block, and
	// which states the low end only.
	owner bool
}

// reach is how far from the saved SP the words that bound the stack stand.
const reach = 48

// verdict is how well a layout and a shape explain memory.
type verdict struct {
	layout *layout
	shape  shape
	tasks  []Task
	weight int
}

// judge finds the shape that most suspects of a layout have in common.
func (s *search) judge(l *compiled) (best verdict) {
	found := s.suspects(l)
	votes := make(map[shape][]int) // indices in found
	for i := range found {
		for _, sh := range s.shapes(&found[i]) {
			if (!sh.owner || l.kernel == freeRTOS) && len(votes[sh]) < maxTasks {
				votes[sh] = append(votes[sh], i)
			}
		}
	}
	shapes := slices.SortedFunc(maps.Keys(votes), func(a, b shape) int {
		if n := cmp.Compare(len(votes[b]), len(votes[a])); n != 0 || a == b {
			return n
		}
		if a.before(b) {
			return -1
		}
		return 1
	})
	made := 0
	for _, sh := range shapes {
		if made += len(votes[sh]); made > maxMade {
			break
		}
		tasks := make([]Task, 0, len(votes[sh]))
		for _, i := range votes[sh] {
			tasks = append(tasks, s.task(&found[i], sh))
		}
		tasks = apart(tasks)
		if v := (verdict{layout: l.layout, shape: sh, tasks: tasks, weight: s.weigh(tasks, sh)}); v.weight > best.weight ||
			v.weight == best.weight && v.weight > 0 && sh.before(best.shape) {
			best = v
		}
	}
	if !l.checked() && !s.known(best.tasks) {
		return verdict{}
	}
	return best
}

// known tells whether something besides pointers speaks for tasks: each has a name, or most
// have a pattern in their stacks. Contexts that are addresses of code only, without a status
// word to check, are found by chance where memory is full of them.
func (s *search) known(tasks []Task) bool {
	s.name(tasks)
	named, filled := 0, 0
	for i := range tasks {
		if tasks[i].Name != "" {
			named++
		}
		if tasks[i].Filled {
			filled++
		}
	}
	return len(tasks) > 0 && (named == len(tasks) || 2*filled > len(tasks))
}

// before orders shapes that explain memory equally well, so that the answer does not depend
// on the order of a map: the words nearest to the saved SP.
func (sh shape) before(o shape) bool {
	if sh.lo != o.lo {
		return max(sh.lo, -sh.lo) < max(o.lo, -o.lo) || max(sh.lo, -sh.lo) == max(o.lo, -o.lo) && sh.lo > o.lo
	}
	return sh.other < o.other || sh.other == o.other && !sh.high && o.high
}

// weigh is what tasks speak for: two at least, or one of FreeRTOS, whose blocks are told by
// more than bounds. A task that waits behind a call speaks for more than one whose PC is
// anywhere in code.
func (s *search) weigh(tasks []Task, sh shape) (n int) {
	if len(tasks) < 2 && !sh.owner {
		return 0
	}
	for i := range tasks {
		n += 4
		if lr, ok := tasks[i].Regs.Lookup(s.snap.Arch.LR); ok && s.follows(lr) {
			n++
		}
		if s.fill(&tasks[i]); tasks[i].Filled {
			n++
		}
		if sh.owner {
			n += 2
		}
	}
	return n
}

// shapes are the ways in which the words around a suspect's saved SP bound its stack.
func (s *search) shapes(p *suspect) (out []shape) {
	ram, ok := s.ramOf(p.saved)
	if !ok {
		return nil
	}
	at := func(i int) (uint64, bool) { return s.mem.Uint(p.block+s.word*uint64(int64(i)), int(s.word)) }
	if s.ownsItself(p.block) {
		if lo, ok := at(ownerStack); ok && lo <= p.saved && ram.Contains(lo) && p.saved-lo < maxStack {
			return []shape{{lo: ownerStack, owner: true}}
		}
	}
	for i := -reach; i <= reach; i++ {
		lo, ok := at(i)
		if i == 0 || !ok || lo > p.saved || !ram.Contains(lo) || p.saved-lo > maxStack || lo%4 != 0 {
			continue
		}
		for _, k := range []int{i - 1, i + 1, i + 2} {
			v, ok := at(k)
			if !ok || k == 0 {
				continue
			}
			if s.isStack(p, target.Range{Lo: lo, Hi: lo + s.size(p, k)}, ram) {
				out = append(out, shape{lo: i, other: k})
			}
			if s.isStack(p, target.Range{Lo: lo, Hi: v}, ram) {
				out = append(out, shape{lo: i, other: k, high: true})
			}
		}
	}
	return out
}

// size is a word of the block as a size. Sizes have 32 bits on 64-bit processors too.
func (s *search) size(p *suspect, k int) uint64 {
	v, _ := s.mem.Uint(p.block+s.word*uint64(int64(k)), 4)
	if s.snap.Arch.BigEndian && s.word == 8 {
		v, _ = s.mem.Uint(p.block+s.word*uint64(int64(k)), 8)
	}
	return v
}

// Bounds of a stack in bytes.
const minStack, maxStack = 64, 4 << 20

// isStack tells whether a range can be a suspect's stack: all of it memory, with the saved
// context inside and the control block outside.
func (s *search) isStack(p *suspect, r, ram target.Range) bool {
	return r.Hi > r.Lo && r.Hi-r.Lo >= minStack && r.Hi-r.Lo <= maxStack && r.Hi%4 == 0 && r.Hi <= ram.Hi &&
		p.ctx.end <= r.Hi && p.saved >= r.Lo && !r.Contains(p.block) && p.ctx.regs.Val[s.snap.Arch.SP] <= r.Hi
}

// The control block of FreeRTOS in words, counted from its first, the saved SP: two list
// items of five words each, whose fourth points back to the block; the priority, the low end
// of the stack, the name (tskTCB of tasks.c, with neither MPU nor list integrity checks).
const (
	ownerState, ownerEvent = 4, 9
	ownerStack, ownerName  = 12, 13
)

// ownsItself tells whether a block's list items point back to the block.
func (s *search) ownsItself(block uint64) bool {
	a, ok1 := s.mem.Uint(block+ownerState*s.word, int(s.word))
	b, ok2 := s.mem.Uint(block+ownerEvent*s.word, int(s.word))
	return ok1 && ok2 && a == block && b == block
}

// task is a suspect of a shape.
func (s *search) task(p *suspect, sh shape) Task {
	t := Task{Block: p.block, Regs: p.ctx.regs, saved: p.saved}
	t.Stack.Lo, _ = s.mem.Uint(p.block+s.word*uint64(int64(sh.lo)), int(s.word))
	switch {
	case sh.owner:
		t.Stack.Hi = p.ctx.end // at least; bound finds the end
	case sh.high:
		t.Stack.Hi, _ = s.mem.Uint(p.block+s.word*uint64(int64(sh.other)), int(s.word))
	default:
		t.Stack.Hi = t.Stack.Lo + s.size(p, sh.other)
	}
	return t
}

// apart leaves out tasks whose stack another task has: each has its own. Of two the one with
// the lower block stays.
func apart(tasks []Task) []Task {
	slices.SortFunc(tasks, func(a, b Task) int {
		if a.Stack.Lo != b.Stack.Lo {
			return cmp.Compare(a.Stack.Lo, b.Stack.Lo)
		}
		return cmp.Compare(a.Block, b.Block)
	})
	out := tasks[:0:0]
	for _, t := range tasks {
		if n := len(out); n > 0 && (out[n-1].Stack.Hi > t.Stack.Lo || out[n-1].Stack.Lo == t.Stack.Lo) {
			continue
		}
		if !onStack(tasks, t.Block) {
			out = append(out, t)
		}
	}
	return out
}

// onStack tells whether a control block lies on a task's stack: an old copy.
func onStack(tasks []Task, block uint64) bool {
	i, _ := slices.BinarySearchFunc(tasks, block, func(t Task, b uint64) int { return cmp.Compare(t.Stack.Lo, b+1) })
	return i > 0 && tasks[i-1].Stack.Contains(block)
}
