package tasks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// runFinder finds which tasks were running.
type runFinder struct{ *finder }

// find finds out which tasks were running. Kernels for one processor (no CONFIG_SMP) have no
// task_struct.on_cpu; their idle task is "swapper", not "swapper/0" (kernel/sched/core.c, init_idle).
func (f runFinder) find() {
	switch {
	case !f.stack.known || len(f.found) < 3:
	case f.comm(f.found[0]) == "swapper":
		f.current = f.currentTask()
	default:
		f.findOnCPU()
	}
}

// findOnCPU finds task_struct.on_cpu, one of the first fields behind stack: 1 for as many
// tasks as there are processors at most, and for one at least, 0 for all others. It is an int, and in
// Linux 7.2 a byte, which on_rq follows: 1 for all tasks that could run.
func (f runFinder) findOnCPU() {
	const usageFlagsPtrace, reach = 12, 64
	most := f.CPUs
	if most == 0 {
		most = max(1, len(f.found)/4)
	}
	near := span{f.stack.at + distance(f.word) + usageFlagsPtrace, f.stack.at + reach, 4}
	for d := range f.distances(near, []string{"on_cpu"}) {
		for _, size := range []int{4, 1} {
			if running := f.flagged(d, size); running > 0 && running <= most {
				f.onCPU, f.flagSize = field{d, true}, size
				f.findProcessor()
				return
			}
		}
	}
}

// findProcessor finds the number of the processor, in thread_info or behind on_cpu: that in an idle task's
// name is its processor's, no task has a larger one, and no two tasks run on one processor.
func (f runFinder) findProcessor() {
	const reach = 128
	for d := range f.distances(span{f.stack.at - reach, f.stack.at + reach, 4}, []string{"thread_info", "cpu"}, []string{"cpu"}) {
		if f.areProcessors(d) {
			f.processor = field{d, true}
			return
		}
	}
}

// areProcessors tells whether the words at a distance are numbers of processors.
func (f runFinder) areProcessors(d distance) bool {
	idle, taken := 0, make(map[uint64]bool)
	for _, t := range f.found {
		v, ok := f.Memory.Uint(at(t, d), 4)
		runs, _ := f.Memory.Uint(at(t, f.onCPU.at), f.flagSize)
		if !ok || v >= uint64(f.CPUs) || runs == 1 && taken[v] {
			return false
		}
		taken[v] = taken[v] || runs == 1
		if number, named := strings.CutPrefix(f.comm(t), "swapper/"); named {
			if number != strconv.FormatUint(v, 10) {
				return false
			}
			idle++
		}
	}
	return idle > 1
}

// flagged counts the tasks whose number at a distance is 1; negative where one is neither 0
// nor 1.
func (f runFinder) flagged(d distance, size int) (n int) {
	for _, t := range f.found {
		v, ok := f.Memory.Uint(at(t, d), size)
		if !ok || v > 1 {
			return -1
		}
		n += int(v)
	}
	return n
}

// nearIdle is how far from the idle task, in the kernel's data, its queue of tasks may lie.
const nearIdle = 8 << 20

// currentTask is the task that ran on the only processor, 0 where that was not found: struct rq, which
// the kernel links in, has "curr" before "idle" (kernel/sched/sched.h). Tasks and the stack of
// the idle task have such pairs of pointers, too; these are left out.
func (f runFinder) currentTask() (current uint64) {
	idle := f.found[0]
	begin := f.beginning()
	if begin == 0 {
		return 0
	}
	ignored := f.stackOf(idle)
	previous := uint64(0)
	near := target.Range{Lo: idle - min(idle, nearIdle), Hi: target.RangeOf(idle, nearIdle).Hi}
	ordered := slices.Sorted(slices.Values(f.found))
	for addr := range near.Words(f.word) {
		v, _ := f.Memory.Word(addr)
		task := previous + begin
		previous = v
		if v != idle-begin || !f.known[task] || ignored.Contains(addr) || inTask(ordered, addr) {
			continue
		}
		if current != 0 && current != task {
			return 0
		}
		current = task
	}
	return current
}

// beginning is how far before comm task_struct begins, 0 where that was not found: the leader of
// a process points to the beginning of itself (group_leader), and to nothing before.
func (f runFinder) beginning() (begin uint64) {
	voters := f.voters()
	for d := range f.distances(span{-before, before, distance(f.word)}, []string{"group_leader"}) {
		v, _ := f.Memory.Word(at(voters[0], d))
		back := voters[0] - v
		if back <= begin || back > before {
			continue
		}
		same := 0
		for _, t := range voters {
			if v, ok := f.Memory.Word(at(t, d)); ok && t-v == back {
				same++
			}
		}
		if same*4 > len(voters)*3 { // the others are threads
			begin = back
		}
	}
	return begin
}

// inTask tells whether an address may be one of a task_struct. The tasks are in order of their addresses.
func inTask(ordered []uint64, addr uint64) bool {
	i, _ := slices.BinarySearch(ordered, addr-min(addr, behind-1))
	return i < len(ordered) && addr-ordered[i]+before < before+behind
}
