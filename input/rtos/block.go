package rtos

import (
	"slices"
)

// bound finds the high end of stacks whose kernel states the low end only. FreeRTOS gets
// stack and control block from its heap, the stack first; a block of that heap begins with
// the next free one and with its size, whose highest bit says that the block is in use
// (heap_4.c, heap_5.c). Static ones end at the next thing that is known at all.
func (m *ram) bound(tasks []Task) {
	for i := range tasks {
		t := &tasks[i]
		used := uint64(1) << (8*m.word - 1)
		if size, ok := m.mem.Uint(t.Stack.Lo-m.word, int(m.word)); ok && size&used != 0 {
			if n := size &^ used; n > minStack && n <= maxStack && t.Stack.Lo+n-2*m.word > t.saved {
				t.Stack.Hi = t.Stack.Lo + n - 2*m.word
				continue
			}
		}
		t.Stack.Hi = m.next(tasks, t)
	}
}

// next is the lowest address above a task's saved context at which something else begins:
// a control block, another stack, the end of memory.
func (m *ram) next(tasks []Task, t *Task) uint64 {
	run, _ := m.run(t.saved)
	hi := run.Hi
	for i := range tasks {
		for _, a := range []uint64{tasks[i].Block, tasks[i].Stack.Lo} {
			if a > t.saved && a < hi {
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
