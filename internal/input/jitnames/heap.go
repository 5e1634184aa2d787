package jitnames

import "container/heap"

// openFunctions are those that lie at a place, by their order in time.
type openFunctions struct {
	order indices
	ended []bool
}

func newHeap(functions int) *openFunctions { return &openFunctions{ended: make([]bool, functions)} }

func (o *openFunctions) add(i int) { heap.Push(&o.order, i) }

func (o *openFunctions) end(i int) { o.ended[i] = true }

// latest is the latest that has not ended, −1 for none.
func (o *openFunctions) latest() int {
	for len(o.order) > 0 && o.ended[o.order[0]] {
		heap.Pop(&o.order)
	}
	if len(o.order) == 0 {
		return -1
	}
	return o.order[0]
}

// indices is a heap.Interface with the greatest number on top.
type indices []int

func (h indices) Len() int           { return len(h) }
func (h indices) Less(i, j int) bool { return h[i] > h[j] }
func (h indices) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *indices) Push(x any)        { *h = append(*h, x.(int)) }
func (h *indices) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
