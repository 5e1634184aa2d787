package rtos

import "github.com/backsight/backsight/target"

// running finds the task on whose stack sp lies by its control block alone, which has the
// shape of the other tasks'. Of FreeRTOS' blocks, which do not state where a stack ends, it is
// the one with the nearest stack below sp.
func (s *search) running(sh shape, tasks []Task, sp uint64) (found Task, ok bool) {
	ram, has := s.ramOf(sp)
	if !has {
		return found, false
	}
	for _, seg := range s.mem.Segments() {
		lo := (seg.Addr + s.word - 1) &^ (s.word - 1)
		for at := lo; at+s.word <= seg.Addr+uint64(len(seg.Data)); at += s.word {
			saved, _ := s.mem.Uint(at, int(s.word))
			if !ram.Contains(saved) || sh.owner && !s.ownsItself(at) {
				continue
			}
			p := suspect{block: at, saved: saved, ctx: registers{end: sp}}
			t := s.task(&p, sh)
			if sh.owner {
				t.Stack.Hi = s.next(tasks, &Task{saved: sp})
			}
			if encloses(&t, sp, ram) && !overlaps(&t, tasks) && (!ok || t.Stack.Lo > found.Stack.Lo) {
				found, ok = t, true
			}
		}
	}
	return found, ok
}

// encloses tells whether a task's stack, all of it memory, holds sp and what was saved of
// the task, and not its control block.
func encloses(t *Task, sp uint64, ram target.Range) bool {
	r := t.Stack
	return r.Lo < r.Hi && r.Hi-r.Lo >= minStack && r.Hi-r.Lo <= maxStack && r.Lo >= ram.Lo && r.Hi <= ram.Hi &&
		r.Lo <= sp && sp <= r.Hi && r.Contains(t.saved) && !r.Contains(t.Block)
}

// overlaps tells whether another task has a part of a task's stack.
func overlaps(t *Task, tasks []Task) bool {
	for i := range tasks {
		if o := tasks[i].Stack; t.Stack.Lo < o.Hi && o.Lo < t.Stack.Hi {
			return true
		}
	}
	return false
}
