package rtos

import (
	"maps"
	"slices"
)

// kin are the tasks whose control blocks are like those of the tasks that were found, but whose contexts lie below their
// stacks, which overflowed, or are none any more: those of the running task, whose calls overwrote what was saved, and of a
// task whose stack another one overwrote. A block that its owners mark is one whatever its context; others need a name, and
// a context or a mark of their kernel.
func (s *search) kin(k *Kernel, l *compiled) (out []Task) {
	known := make(map[uint64]bool)
	for i := range k.Tasks {
		known[k.Tasks[i].Block] = true
	}
	add := func(at uint64) {
		sp, _ := s.ram.mem.Uint(at, int(s.ram.word))
		p := suspect{block: at, saved: sp, ctx: registers{sp: sp, saved: sp, end: sp}}
		ctx, ok := l.read(s.ram.mem, at, sp)
		if ok = ok && s.code.resumes(s.ram, &ctx); ok {
			p.saved, p.ctx = ctx.saved, ctx
		}
		t := s.ram.task(&p, k.shape)
		if t.Name = k.name(&t); s.isKin(k, &t, ok) && s.alone(k, out, &t) {
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
	for _, at := range s.pointers {
		if len(out) == maxTasks || s.ram.ctx.Err() != nil {
			break
		}
		if !known[at] {
			add(at)
		}
	}
	return out
}

// isKin tells whether a control block that is like others is a task's. resumes: with its context the program can go on.
func (s *search) isKin(k *Kernel, t *Task, resumes bool) bool {
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
	below := t.saved < r.Lo && r.Lo-t.saved <= maxOverflow
	return resumes && below || k.states.marked != nil && k.states.marked(s.ram, t.Block)
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

// remains are the tasks of FreeRTOS whose control blocks are all that is left, as after a recursion through all memory: no
// context shows the port, but the owners, a list and a name of printable characters show the block.
func (s *search) remains(all []layout) (v verdict) {
	i := slices.IndexFunc(all, func(l layout) bool { return l.kernel == freeRTOS && l.fits(s.code.snap.Arch) })
	for _, at := range slices.Sorted(maps.Keys(s.ram.owners)) {
		for _, sh := range s.ram.owners[at] {
			t := s.ram.task(&suspect{block: at}, sh)
			if s.names().of([]Task{t}, sh)(&t) != "" && i >= 0 && s.ram.listed(at, sh) && (len(v.tasks) == 0 || sh == v.shape) {
				v.layout, v.shape, v.tasks = &all[i], sh, append(v.tasks, t)
			}
		}
	}
	return v
}
