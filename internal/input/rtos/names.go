package rtos

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// names reads the names of tasks, in memory or in an image.
type names struct {
	*ram
	snap *target.Snapshot
}

// nameReach is how far from the saved SP a name stands, in bytes.
const nameReach = 256

// nameAt is where a kernel's control blocks have the name, as far as that is known.
type nameAt struct {
	word int // which one points to the name; 0: none is known to
	// side of the saved SP on which the name stands, −1 before and 1 behind, 0 if unknown: in an array of blocks, the name
	// of the next one may stand nearer.
	side int
}

// of finds the tasks' names: at a place that is known. Else text at the same distance from the saved SP in all blocks,
// or a pointer to text; of FreeRTOS behind the low end of the stack. Two bytes with priorities of 70 read "FF": other texts
// that tell the tasks apart as well are preferred to those of two characters, and those of one do not count alone.
func (n names) of(tasks []Task, sh shape, known nameAt) (read func(*Task) string) {
	if word := known.word; word != 0 {
		read = func(t *Task) string { return n.text(n.at(t.Block, word)) }
	} else if sh.owner > 0 {
		behind := uint64(sh.lo + 1)
		if n.several(pointers(tasks), sh) {
			behind += 2
		}
		read = func(t *Task) string { return n.text(t.Block + n.word*behind) }
	} else {
		read = n.search(tasks, known.side)
	}
	for i := range tasks {
		tasks[i].Name = read(&tasks[i])
	}
	return read
}

// search finds where the names are: of the places that tell most tasks, the one nearest to the saved SP, a text rather than a pointer to one, and none so far off that
// the next control block of an array has its saved SP between.
func (n names) search(tasks []Task, side int) (read func(*Task) string) {
	most, best := 0, func(*Task) string { return "" }
	consider := func(weight int, read func(*Task) string) {
		told, longest, seen := weight, 0, make(map[string]bool)
		for i := range tasks {
			if text := read(&tasks[i]); text != "" {
				told += 2
				if !seen[text] && len(text) > 1 {
					told++
				}
				seen[text] = true
				longest = max(longest, len(text))
			}
		}
		if longest == 2 {
			told--
		}
		if told > most && told-weight >= 2*len(tasks) && longest > 1 {
			most, best = told, read
		}
	}
	word, apart := int(n.word), distance(tasks)
	for i := range 2*nameReach/4 + 1 {
		off := (i + 1) / 2 * 4 // 0, 4, -4, 8, …
		if i%2 == 0 {
			off = -off
		}
		at := uint64(int64(off))
		if max(off, -off) >= apart {
			break
		}
		if off*side < 0 {
			continue
		}
		consider(1, func(t *Task) string { return n.text(t.Block + at) })
		if off%word == 0 {
			consider(0, func(t *Task) string {
				p, _ := n.mem.Uint(t.Block+at, word)
				return n.text(p)
			})
		}
	}
	return best
}

// distance is how far apart the two nearest control blocks are in bytes, at most far.
func distance(tasks []Task) int {
	const far = 1 << 20
	blocks := make([]uint64, 0, len(tasks))
	for i := range tasks {
		blocks = append(blocks, tasks[i].Block)
	}
	slices.Sort(blocks)
	least := uint64(far)
	for i := 1; i < len(blocks); i++ {
		least = min(least, blocks[i]-blocks[i-1])
	}
	return int(least)
}

// maxName is the longest name of a task: configMAX_TASK_NAME_LEN is 16 or less in most
// firmware, CONFIG_THREAD_MAX_NAME_LEN 32.
const maxName = 32

// text is a name at an address, in memory or in an image; "" where there is none.
func (n names) text(addr uint64) string {
	buf := make([]byte, maxName)
	read := n.mem.Read(addr, buf)
	if m, ok := n.snap.ModuleAt(addr); read == 0 && ok && m.Image != nil {
		read = copy(buf, m.Image.Segments.Bytes(m.ToImage(addr)))
	}
	for i, c := range buf[:read] {
		switch {
		case c == 0 && i > 0:
			return string(buf[:i])
		case c <= ' ' && !(c == ' ' && i > 0) || c > '~':
			return ""
		}
	}
	return ""
}
