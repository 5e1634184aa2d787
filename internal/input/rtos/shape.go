package rtos

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/target"
)

// shape says how a control block bounds the task's stack: the words at these distances from
// the word with the saved SP, in words, have the low end and, unless owner or top, the size or
// the high end.
type shape struct {
	lo, other int
	// high: the other word is the high end.
	high bool
	// owner: the block is that of FreeRTOS, which states the low end only. The first of the two words that point back to
	// the block, and how many words behind is the other one; 0 for other blocks.
	owner, item int
	// top: the block is that of ChibiOS, which lies right above the stack; with high, which states the high end of that and the block,
	// and may lie elsewhere (8.0).
	top bool
	// inside: the size is that of the stack and, above it, of the block of RIOT, in one piece of memory.
	inside bool
	// halves: the size is the lower 16 bits of its word, and counts words, as Mynewt has it.
	halves bool
}

// of tells whether control blocks of a kernel may have the shape. NuttX' size stands in front of
// what its allocator returned, and behind that the low end, above the thread's own data (struct
// tcb_s of nuttx/sched.h, since 10.0).
func (sh shape) of(kernel string) bool {
	sizeFirst := sh.owner == 0 && !sh.top && sh.other == sh.lo-2
	return (sh.owner == 0 || kernel == freeRTOS) && (!sh.top || kernel == chibiOS) && (!sizeFirst || kernel == nuttX) && (!sh.inside || kernel == riot) &&
		sh.halves == (kernel == mynewt)
}

// reach is how far from the saved SP the words that bound the stack stand.
const reach = 48

// before orders shapes that explain memory equally well, so that the answer does not depend
// on the order of a map: the words nearest to the saved SP.
func (sh shape) before(o shape) bool {
	if sh.top != o.top {
		return sh.top
	}
	if sh.top && sh.high != o.high {
		return sh.high
	}
	if sh.item != o.item {
		return sh.item < o.item
	}
	if sh.lo != o.lo {
		return max(sh.lo, -sh.lo) < max(o.lo, -o.lo) || max(sh.lo, -sh.lo) == max(o.lo, -o.lo) && sh.lo > o.lo
	}
	return sh.other < o.other || sh.other == o.other && !sh.high && o.high
}

// shapes are the ways in which the words around a suspect's saved SP bound its stack.
func (m *ram) shapes(p *suspect) (out []shape) {
	run, ok := m.run(p.saved)
	if !ok {
		return nil
	}
	if owned := m.owners[p.block]; owned != nil {
		return slices.DeleteFunc(slices.Clone(owned), func(sh shape) bool {
			lo := m.at(p.block, sh.lo)
			return !m.listed(p.block, sh) || lo > p.saved+maxOverflow || lo+maxStack < p.saved || !run.Contains(lo)
		})
	}
	for i := -reach; i <= reach; i++ {
		lo, ok := m.lookup(p.block, i)
		if i == 0 || !ok || lo > p.saved || !run.Contains(lo) || p.saved-lo > maxStack || lo%4 != 0 {
			continue
		}
		for _, sh := range []shape{{lo: i, top: true}, {lo: i, other: i + 1, high: true, top: true}} {
			if i > 0 && i <= chibiBase && m.isStack(p, m.chibiStack(p.block, sh), run) {
				out = append(out, sh)
			}
		}
		for _, k := range []int{i - 2, i - 1, i + 1, i + 2} {
			v, ok := m.lookup(p.block, k)
			if !ok || k == 0 {
				continue
			}
			if m.isStack(p, target.Range{Lo: lo, Hi: lo + m.size(p.block, k)}, run) {
				out = append(out, shape{lo: i, other: k})
			} else if end := lo + m.size(p.block, k); p.block < end && end-p.block < maxInside && m.isStack(p, target.Range{Lo: lo, Hi: p.block}, run) {
				out = append(out, shape{lo: i, other: k, inside: true})
			}
			if k == i+1 && m.isStack(p, target.Range{Lo: lo, Hi: lo + m.halves(p.block, k)}, run) {
				out = append(out, shape{lo: i, other: k, halves: true})
			}
			if k != i-2 && m.isStack(p, target.Range{Lo: lo, Hi: v}, run) {
				out = append(out, shape{lo: i, other: k, high: true})
			}
		}
	}
	return out
}

// Bounds of a stack in bytes.
const minStack, maxStack = 64, 4 << 20

// maxInside is above the size in bytes of a control block that lies in the memory of its stack.
const maxInside = 128

// isStack tells whether a range can be a suspect's stack: all of it memory, with the saved
// context inside and the control block outside.
func (m *ram) isStack(p *suspect, r, run target.Range) bool {
	return r.Hi > r.Lo && r.Hi-r.Lo >= minStack && r.Hi-r.Lo <= maxStack && r.Hi%4 == 0 && r.Hi <= run.Hi &&
		p.ctx.end <= r.Hi && p.saved >= r.Lo && !r.Contains(p.block) && p.ctx.sp <= r.Hi
}

// The control block of ChibiOS in words (thread_t of chobjects.h and chschd.h, from 3.0 on):
// chibiHeader words stand before the saved SP, two links and the priority; at most chibiBase
// words behind that one stands the low end of the stack, after the registry's links, the
// instance and the name.
const chibiHeader, chibiBase = 3, 6

// chibiStack is the stack of a control block of ChibiOS.
func (m *ram) chibiStack(block uint64, sh shape) target.Range {
	r := target.Range{Lo: m.at(block, sh.lo), Hi: block - m.word*chibiHeader}
	if end := m.at(block, sh.other); sh.high && (block < r.Lo || block >= end) {
		r.Hi = end
	}
	return r
}

// task is a suspect of a shape.
func (m *ram) task(p *suspect, sh shape) Task {
	t := Task{Block: p.block, Regs: p.ctx.regs, saved: p.saved, end: p.ctx.end}
	t.Stack.Lo = m.at(p.block, sh.lo)
	switch {
	case sh.owner > 0:
		t.Stack.Hi = max(p.ctx.end, t.Stack.Lo) // at least; bound finds the end
	case sh.top:
		t.Stack = m.chibiStack(p.block, sh)
	case sh.inside:
		t.Stack.Hi = p.block
	case sh.halves:
		t.Stack.Hi = t.Stack.Lo + m.halves(p.block, sh.other)
	case sh.high:
		t.Stack.Hi = m.at(p.block, sh.other)
	default:
		t.Stack.Hi = t.Stack.Lo + m.size(p.block, sh.other)
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
