package rtos

import (
	"slices"
)

// bound finds the high end of stacks whose kernel states the low end only. FreeRTOS gets
// stack and control block from its heap, the stack first; a block of that heap begins with
// the next free one and with its size, whose highest bit says that the block is in use
// (heap_4.c, heap_5.c). Static ones end at the next thing that is known at all.
func (s *search) bound(tasks []Task) {
	for i := range tasks {
		t := &tasks[i]
		used := uint64(1) << (8*s.word - 1)
		if size, ok := s.mem.Uint(t.Stack.Lo-s.word, int(s.word)); ok && size&used != 0 {
			if n := size &^ used; n > minStack && n <= maxStack && t.Stack.Lo+n-2*s.word > t.saved {
				t.Stack.Hi = t.Stack.Lo + n - 2*s.word
				continue
			}
		}
		t.Stack.Hi = s.next(tasks, t)
	}
}

// next is the lowest address above a task's saved context at which something else begins:
// a control block, another stack, the end of memory.
func (s *search) next(tasks []Task, t *Task) uint64 {
	ram, _ := s.ramOf(t.saved)
	hi := ram.Hi
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
func (s *search) fill(t *Task) {
	t.Filled, t.Unused, t.Overflown = false, 0, false
	word := func(off uint64) uint64 { v, _ := s.mem.Uint(t.Stack.Lo+off, 4); return v }
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
		if v, ok := s.mem.Uint(at, 4); !ok || v != pattern {
			break
		}
		t.Unused += 4
	}
}

// nameReach is how far from the saved SP a name stands, in bytes.
const nameReach = 256

// name finds the tasks' names: text at the same distance from the saved SP in all blocks,
// or a pointer to text.
func (s *search) name(tasks []Task) (read func(*Task) string) {
	most, best := 0, func(*Task) string { return "" }
	consider := func(read func(*Task) string) {
		n, seen := 0, make(map[string]bool)
		for i := range tasks {
			if text := read(&tasks[i]); text != "" {
				n += 2
				if !seen[text] {
					n++
				}
				seen[text] = true
			}
		}
		if n > most && n >= 2*len(tasks) {
			most, best = n, read
		}
	}
	for off := -nameReach; off <= nameReach; off += 4 {
		at := uint64(int64(off))
		consider(func(t *Task) string { return s.text(t.Block + at) })
		if off%int(s.word) == 0 {
			consider(func(t *Task) string {
				p, _ := s.mem.Uint(t.Block+at, int(s.word))
				return s.text(p)
			})
		}
	}
	for i := range tasks {
		tasks[i].Name = best(&tasks[i])
	}
	return best
}

// maxName is the longest name of a task: configMAX_TASK_NAME_LEN is 16 or less in most
// firmware, CONFIG_THREAD_MAX_NAME_LEN 32.
const maxName = 32

// text is a name at an address, in memory or in an image; "" where there is none.
func (s *search) text(addr uint64) string {
	buf := make([]byte, maxName)
	n := s.mem.Read(addr, buf)
	if m, ok := s.snap.ModuleAt(addr); n == 0 && ok && m.Image != nil {
		n = copy(buf, m.Image.Bytes(m.ToImage(addr)))
	}
	for i, c := range buf[:n] {
		switch {
		case c == 0 && i >= 2:
			return string(buf[:i])
		case c <= ' ' && !(c == ' ' && i > 0) || c > '~':
			return ""
		}
	}
	return ""
}
