package rtos

import "slices"

// FreeRTOS' control block is known by what its fields are to each other, since their distances differ with the port, its
// version and configuration (tskTCB of tasks.c). The saved SP is the first word. Two list items follow, each with a
// pointer back to the block and behind that one to the list that the item is in. Between SP and the items there may be the
// settings of an MPU and the affinity to processors. Behind the items come the priority and the low end of the stack.

// itemSizes are the words of a list item. Ticks of 64 bits and words that show the integrity of a list
// (configUSE_LIST_DATA_INTEGRITY_CHECK_BYTES) make items longer.
var itemSizes = [...]int{5, 6, 7, 10}

// listSizes are the words that a list may have, by those of an item (List_t of list.h). With configUSE_MINI_LIST_ITEM of 0 the
// end of a list is a whole item.
func listSizes(item int) []int {
	switch item {
	case 5:
		return []int{5, 7}
	case 6:
		return []int{6, 8, 7, 10}
	case 7:
		return []int{8, 11}
	}
	return []int{12, 16}
}

const (
	// ownerReach is how far behind the saved SP the first owner stands at most, in words: a block with an MPU has its
	// context, regions and a stack for system calls before.
	ownerReach = 512
	// integrity is how many words may stand between the second item's list and the priority.
	integrity = 2
	// maxOverflow is how far below its stack's low end a task is believed to have come, in bytes.
	maxOverflow = 4 << 10
)

// owned finds control blocks by their owners: of each the shapes that it may have.
func (m *ram) owned() map[uint64][]shape {
	blocks := make(map[uint64][]shape) // at most maxTasks
	for at := range m.words() {
		block, _ := m.mem.Uint(at, int(m.word))
		if off := at - block; off == 0 || off%m.word != 0 || off > ownerReach*m.word || len(blocks) == maxTasks {
			continue
		}
		for _, item := range itemSizes {
			if second, ok := m.mem.Uint(at+m.word*uint64(item), int(m.word)); ok && second == block {
				blocks[block] = m.ownedShapes(blocks[block], block, int((at-block)/m.word), item)
			}
		}
	}
	return blocks
}

// ownedShapes appends the shapes of a block whose first owner and list item are known: where the low end of the stack may
// stand, behind a priority.
func (m *ram) ownedShapes(out []shape, block uint64, first, item int) []shape {
	const most = 8
	for behind := range integrity + 1 {
		sh := shape{lo: first + item + 3 + behind, owner: first, item: item}
		lo, ok := m.lookup(block, sh.lo)
		if _, in := m.run(lo); ok && in && lo%4 == 0 && m.at(block, sh.lo-1) < maxPriority && len(out) < most && !slices.Contains(out, sh) {
			out = append(out, sh)
		}
	}
	return out
}

// several tells whether the kernel runs on several processors: behind the low end of the stack each block has a number, of the
// processor that the task runs on or below 0 for none, and attributes.
func (m *ram) several(tasks []*Task, sh shape) bool {
	idle := false
	for _, t := range tasks {
		state, attributes := m.signed(t.Block, sh.lo+1), m.at(t.Block, sh.lo+2)
		if state < -2 || state >= maxProcessors || attributes > 1 {
			return false
		}
		idle = idle || state < 0
	}
	return idle
}

// maxProcessors bounds the numbers of processors.
const maxProcessors = 32

// signed is a word of a control block as a signed number.
func (m *ram) signed(block uint64, words int) int64 {
	v := m.at(block, words)
	if m.word == 4 {
		return int64(int32(v))
	}
	return int64(v)
}

// listed tells whether the task of a control block is in a list, as each is that was not deleted.
func (m *ram) listed(block uint64, sh shape) bool {
	_, in := m.run(m.at(block, sh.owner+1))
	return in
}
