package rtos

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/backsight/backsight/target"
)

// search looks for tasks in one program's memory.
type search struct {
	ram  *ram
	code code
	// pointers are the addresses of words that point to memory.
	pointers []uint64
}

func newSearch(ctx context.Context, snap *target.Snapshot) *search {
	s := &search{ram: newRAM(ctx, snap), code: code{snap}}
	s.pointers = s.ram.pointers()
	return s
}

// suspect is a word that may be the saved SP of a task, and the context that the word points to, from saved on.
type suspect struct {
	block, saved uint64
	ctx          registers
}

// Bounds of the search, for each layout: how many suspects are kept, and how many tasks are made
// of them.
const (
	maxSuspects = 1 << 13
	maxMade     = 1 << 17
)

// suspects are the words of memory that point to a context.
func (s *search) suspects(l *compiled) (out []suspect) {
	inBlock := len(l.before)+len(l.after) > 0 || l.returnAt != 0
	var none uint64 // an address at which no context lies: memory is full of one pointer at times
	blocks := s.pointers
	if l.owned {
		blocks = slices.Sorted(maps.Keys(s.ram.owners))
	}
	for _, at := range blocks {
		sp, _ := s.ram.mem.Uint(at, int(s.ram.word))
		if len(out) == maxSuspects || s.ram.ctx.Err() != nil {
			break
		}
		if sp == none {
			continue
		}
		if ctx, ok := l.read(s.ram.mem, at, sp); ok && s.code.resumes(s.ram, &ctx) {
			out = append(out, suspect{at, ctx.saved, ctx})
		} else if !inBlock {
			none = sp
		}
	}
	return out
}

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
		if s.ram.ctx.Err() != nil {
			return verdict{}
		}
		for _, sh := range s.ram.shapes(&found[i]) {
			if sh.of(l.kernel) && len(votes[sh]) < maxTasks {
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
		if made += len(votes[sh]); made > maxMade || s.ram.ctx.Err() != nil {
			break
		}
		tasks := make([]Task, 0, len(votes[sh]))
		for _, i := range votes[sh] {
			tasks = append(tasks, s.ram.task(&found[i], sh))
		}
		tasks = apart(tasks)
		if v := (verdict{layout: l.layout, shape: sh, tasks: tasks, weight: s.weigh(tasks, sh, l.layout)}); v.weight > best.weight ||
			v.weight == best.weight && v.weight > 0 && sh.before(best.shape) {
			best = v
		}
	}
	if !l.checked() && !s.known(best) {
		return verdict{}
	}
	return best
}

// known tells whether more than pointers speaks for tasks: each has a name, or most have a fill
// pattern in their stacks. Memory that is full of code addresses holds, by chance, words that look
// like a context of code addresses alone, without a status word to check.
func (s *search) known(best verdict) bool {
	tasks := best.tasks
	s.names().of(tasks, best.shape, nameAt{})
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

// weigh is how much speaks for tasks, 0 for too few of them. Two tasks are needed, or one of
// FreeRTOS, whose control block has more marks than the bounds of a stack. A task whose LR follows
// a call weighs more, and so does a task whose stack has a fill pattern, or whose context holds its
// own SP.
func (s *search) weigh(tasks []Task, sh shape, l *layout) (n int) {
	if len(tasks) < 2 && sh.owner == 0 {
		return 0
	}
	for i := range tasks {
		n += 4
		if lr, ok := tasks[i].Regs.Lookup(s.code.snap.Arch.LR); ok && s.code.follows(lr) {
			n++
		}
		if s.ram.fill(&tasks[i]); tasks[i].Filled {
			n++
		}
		if sh.owner > 0 {
			n += 2
		}
		if l.statesSP() {
			n += 4
		}
	}
	return n
}

// names reads the names of tasks in the search's memory.
func (s *search) names() names { return names{s.ram, s.code.snap} }
