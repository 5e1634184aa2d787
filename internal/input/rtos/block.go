package rtos

import (
	"slices"
)

// bound finds the high end of stacks whose kernel states the low end only: FreeRTOS gets the stack from its heap,
// may state the high end behind the name, and static stacks end at the next thing that is known at all.
func (m *ram) bound(tasks []Task, sh shape) {
	for i := range tasks {
		tasks[i].Stack.Hi = m.next(tasks, &tasks[i])
	}
	stated := m.highEnds(tasks, sh)
	for i := range tasks {
		t := &tasks[i]
		if n, ok := m.allocated(t); ok {
			t.Stack.Hi = t.Stack.Lo + n
		} else if stated != 0 {
			t.Stack.Hi = min(t.Stack.Hi, m.at(t.Block, stated)+m.word)
		} else {
			t.AtMost = true
		}
	}
}

// allocated is the size of a task's stack as its heap has it, ok where a heap has the stack: a block of FreeRTOS' heap begins
// with the next free one and with its size, whose highest bit says that the block is in use (heap_4.c, heap_5.c).
func (m *ram) allocated(t *Task) (n uint64, ok bool) {
	used := uint64(1) << (8*m.word - 1)
	size, _ := m.mem.Uint(t.Stack.Lo-m.word, int(m.word))
	n = size &^ used
	if size&used == 0 || n <= minStack || n > maxStack || t.saved > t.Stack.Lo && t.Stack.Lo+n-2*m.word <= t.saved {
		return 0, false
	}
	return n - 2*m.word, true
}

// highEnds is in which word behind the name each control block has its stack's high end, 0 for none
// (configRECORD_STACK_HIGH_ADDRESS): above what was saved, and below what begins next.
func (m *ram) highEnds(tasks []Task, sh shape) (words int) {
	const reach = 24
	for words = sh.lo + 2; words < sh.lo+reach; words++ {
		if !slices.ContainsFunc(tasks, func(t Task) bool {
			hi := m.at(t.Block, words)
			return hi <= max(t.saved, t.Stack.Lo) || hi >= t.Stack.Hi || hi%m.word != 0
		}) {
			return words
		}
	}
	return 0
}

// next is the lowest address above a task's saved context at which something else begins:
// a control block, another stack, the end of memory.
func (m *ram) next(tasks []Task, t *Task) uint64 {
	run, _ := m.run(t.Stack.Lo)
	hi := run.Hi
	for i := range tasks {
		for _, a := range []uint64{tasks[i].Block, tasks[i].Stack.Lo} {
			if a > max(t.saved, t.Stack.Lo) && a < hi {
				hi = a
			}
		}
	}
	return hi
}

// patterns are the words with which kernels fill stacks before use: FreeRTOS, ThreadX and
// Zephyr and others, RT-Thread, embOS, NuttX, RTX, ChibiOS.
var patterns = []uint64{0xa5a5a5a5, 0xefefefef, 0xaaaaaaaa, 0x23232323, 0xcdcdcdcd, 0xdeadbeef, 0xcccccccc, 0x55555555}

// guards are the words that kernels put at the very end of a stack, to see an overflow: RTX5's
// osRtxStackMagicWord, Zephyr's STACK_SENTINEL.
var guards = []uint64{0xe25a2ea5, 0xf0f0f0f0}

// fillAll measures how much of each task's stack was never used, and which stacks overflowed. Where most of them begin with
// a pattern, one that does not was used whole at least; and where most have a guard or a heap's header there, and this one
// has none, somebody wrote over that.
func (m *ram) fillAll(tasks []Task) {
	begin, guarded, allocated := 0, 0, 0
	guard := func(t *Task) bool { v, _ := m.mem.Uint(t.Stack.Lo, 4); return slices.Contains(guards, v) }
	for i := range tasks {
		t := &tasks[i]
		if m.fill(t); t.Filled && !t.Overflown {
			begin++
		}
		if guard(t) {
			guarded++
		}
		if _, ok := m.allocated(t); ok {
			allocated++
		}
	}
	most := func(n int) bool { return 2*n > len(tasks) }
	for i := range tasks {
		t := &tasks[i]
		_, has := m.allocated(t)
		switch {
		case t.below():
			t.Overflown = true
		case !t.Filled && most(begin):
			t.Filled, t.Unused = true, 0
			t.Overflown = most(guarded) && !guard(t) || most(allocated) && !has
		}
	}
}

// fill measures how much of a task's stack was never used. Where the first word is neither a
// pattern nor a guard, two equal words of a pattern a bit further up say that it was one once.
func (m *ram) fill(t *Task) {
	t.Filled, t.Unused, t.Overflown = false, 0, false
	word := func(off uint64) uint64 { v, _ := m.mem.Uint(t.Stack.Lo+off, 4); return v }
	pattern, at := word(0), t.Stack.Lo
	switch {
	case slices.Contains(guards, pattern):
		pattern, at = word(4), at+4
		t.Unused = 4
	case !slices.Contains(patterns, pattern):
		pattern = word(16)
		t.Overflown = pattern == word(20)
	}
	if t.Filled = slices.Contains(patterns, pattern); !t.Filled || t.Overflown {
		t.Overflown = t.Filled && t.Overflown
		t.Unused = 0
		return
	}
	for ; at < t.saved; at += 4 {
		if v, ok := m.mem.Uint(at, 4); !ok || v != pattern {
			break
		}
		t.Unused += 4
	}
}
