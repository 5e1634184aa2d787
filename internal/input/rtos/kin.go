package rtos

import (
	"maps"
	"slices"
)

// kin are the tasks whose control blocks are like those of the tasks that were found, but whose contexts lie below their
// stacks, which overflowed, never ran, or are none any more: those of the running task, whose calls overwrote what was saved, and of a
// task whose stack another one overwrote. A block that its owners mark is one whatever its context; others need a name, and
// a context or a mark of their kernel.
func (s *search) kin(k *Kernel, l *compiled) (out []Task) {
	known := make(map[uint64]bool)
	for i := range k.Tasks {
		known[k.Tasks[i].Block] = true
	}
	runs, running := s.ram.runsNuttX(s.code.snap.Modules, k.all())
	add := func(at uint64) {
		p, ok := s.suspect(l, at, k.shape)
		t := s.ram.task(&p, k.shape)
		if t.Name = k.name(&t); s.isKin(k, &t, ok, running && at == runs) && s.alone(k, out, &t) {
			out = append(out, t)
		}
	}
	if k.shape.owner > 0 {
		for _, at := range slices.Sorted(maps.Keys(s.ram.owners)) {
			if !known[at] && slices.Contains(s.ram.owners[at], k.shape) {
				add(at)
			}
		}
		return out
	}
	if running && !known[runs] {
		add(runs)
		known[runs] = true
	}
	for _, at := range s.pointers {
		if len(out) == maxTasks || s.ram.ctx.Err() != nil {
			break
		}
		if !known[at] {
			add(at)
		}
	}
	if k.Name == nuttX && k.states.marked != nil {
		for at := range s.ram.words() {
			if len(out) < maxTasks && s.ram.at(at, 0) == 0 && k.states.marked(s.ram, at) {
				add(at) // since 12.9 the way out of an interrupt clears the saved SP of who runs (arm_doirq.c, riscv_doirq.c)
			}
		}
	}
	return out
}

// suspect is the task of a control block, without registers where the words that SP points to are no context; ok: they are one.
func (s *search) suspect(l *compiled, at uint64, sh shape) (p suspect, ok bool) {
	sp, _ := s.ram.mem.Uint(at, int(s.ram.word))
	if ctx, read := l.read(s.ram.mem, at, sp); read {
		p = suspect{at, ctx.saved, ctx}
		if s.code.resumes(s.ram, &ctx) || ctx.end == s.ram.task(&p, sh).Stack.Hi && s.code.starts(&ctx) {
			return p, true
		}
	}
	return suspect{at, sp, registers{sp: sp, saved: sp, end: sp}}, false
}

// isKin tells whether a control block that is like others is a task's. resumes: with its context the program can go on. runs: the kernel
// says that the task runs.
func (s *search) isKin(k *Kernel, t *Task, resumes, runs bool) bool {
	run, ok := s.ram.run(t.Stack.Lo)
	if !ok || t.Stack.Lo%4 != 0 {
		return false
	}
	if k.shape.owner > 0 {
		return s.ram.listed(t.Block, k.shape)
	}
	r := t.Stack
	if r.Hi <= r.Lo || r.Hi-r.Lo < minStack || r.Hi-r.Lo > maxStack || r.Hi > run.Hi || r.Contains(t.Block) || t.Name == "" {
		return false
	}
	return runs || resumes && t.saved+maxOverflow >= r.Lo && t.saved < r.Hi || k.states.marked != nil && k.states.marked(s.ram, t.Block)
}

// alone tells whether no other task has a task's stack, or the control block on its stack.
func (s *search) alone(k *Kernel, more []Task, t *Task) bool {
	for _, tasks := range [...][]Task{k.Tasks, more} {
		for i := range tasks {
			o := &tasks[i]
			if o.Stack.Lo == t.Stack.Lo || o.Stack.Contains(t.Block) || k.shape.owner == 0 && o.Stack.Lo < t.Stack.Hi && t.Stack.Lo < o.Stack.Hi {
				return false
			}
		}
	}
	return true
}

// remains are the tasks whose control blocks are known by their marks alone, where contexts tell of no such kernel: a recursion
// through all memory left none, or left words that look like others. The marks are FreeRTOS' owners and names, or those of another kernel
// with bounds around the saved SP. The layout is the one by which most contexts can be read.
func (s *search) remains(all []layout) (best verdict) {
	type marked struct {
		kernel string
		shape
	}
	var kinds []marked // in the order in which they were found
	blocks := make(map[marked][]uint64)
	add := func(of marked, at uint64) {
		if len(blocks[of]) == 0 {
			kinds = append(kinds, of)
		}
		if len(blocks[of]) < maxTasks {
			blocks[of] = append(blocks[of], at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(s.ram.owners)) {
		for _, sh := range s.ram.owners[at] {
			if s.ram.listed(at, sh) && s.names().of(nil, sh, nameAt{})(&Task{Block: at}) != "" {
				add(marked{freeRTOS, sh}, at)
			}
		}
	}
	for _, r := range stateReaders() {
		for i, at := range s.pointers {
			if r.marked == nil || i&1023 == 0 && s.ram.ctx.Err() != nil {
				break
			}
			if s.ram.bounded(at, r.bounds) && r.marked(s.ram, at) {
				add(marked{r.kernel, r.bounds}, at)
			}
		}
	}
	for _, of := range kinds {
		found := blocks[of]
		for i := range all {
			l := &all[i]
			if !l.fits(s.code.snap.Arch) || l.kernel != of.kernel && l.kernel != freeRTOS || len(found) < 2 && of.kernel != freeRTOS {
				continue
			}
			v := verdict{layout: l, shape: of.shape, weight: 1}
			for _, at := range found {
				p, ok := s.suspect(l.compile(s.code.snap.Arch), at, of.shape)
				if v.tasks = append(v.tasks, s.ram.task(&p, of.shape)); ok {
					v.weight++
				}
			}
			if v.weight+len(v.tasks) > best.weight+len(best.tasks) {
				best = v
			}
		}
	}
	best.tasks = apart(best.tasks)
	return best
}

// bounded tells whether a control block of a shape bounds a stack around the saved SP.
func (m *ram) bounded(block uint64, sh shape) bool {
	t := m.task(&suspect{block: block}, sh)
	run, ok := m.run(t.Stack.Lo)
	size := t.Stack.Hi - t.Stack.Lo
	sp := m.at(block, 0)
	return ok && size >= minStack && size <= maxStack && t.Stack.Hi <= run.Hi && t.Stack.Lo%4 == 0 &&
		!t.Stack.Contains(block) && sp+maxOverflow >= t.Stack.Lo && sp <= t.Stack.Hi
}
