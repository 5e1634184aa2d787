package tasks

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// Bounds of what tracers keep of a task's calls: function_graph 50 entries of up to six words
// (FTRACE_RETFUNC_DEPTH), since Linux 6.11 a page (SHADOW_STACK_SIZE); kretprobes as many nodes
// as calls of probed functions were going on.
const (
	maxReturnStack = 4096
	maxProbes      = 256
	// entryWords bounds an entry of the return stack: return address, function, two times (of
	// two words each on processors of 32 bits), frame pointer, address of the return address.
	entryWords = 8
	// maxSearched bounds the tasks whose stacks are searched for a tracer's addresses.
	maxSearched = 1024
)

// hookFinder finds where tracers keep what they replaced on tasks' stacks.
type hookFinder struct {
	*finder
	// returns is the pointer to function_graph's entries, task_struct.ret_stack; probes the one
	// to kretprobes' nodes, kretprobe_instances or rethooks.
	returns, probes field
	// size is that of an entry of function_graph in words, 0 where entries differ, as they
	// do since Linux 6.11, or have no index of the last one in use.
	size int
}

// findHooked finds where tasks keep what a tracer replaced on their stacks: of all pointers in
// task_struct, those behind which most tasks with such stacks have entries.
func (h *hookFinder) findHooked() {
	if !h.context.known || !h.stack.known || len(h.Hooks) == 0 {
		return
	}
	traced := h.traced()
	if len(traced) == 0 {
		return
	}
	ofAnySize := func(_ *tracedTask, at uint64) []target.HookedReturn { return h.returnStack(at) }
	h.returns = h.mostEntries(traced, ofAnySize, []string{"ret_stack"})
	h.probes = h.mostEntries(traced, h.probed, []string{"rethooks"}, []string{"kretprobe_instances"})
	if h.returns.known {
		h.findEntry(traced)
	}
}

// findEntry finds the size of function_graph's entries: the smallest with which all traced tasks
// have as many as the index says, and the most of these have places.
func (h *hookFinder) findEntry(traced []tracedTask) {
	best, most := 0, -1
	for n := 3; n <= entryWords; n++ {
		h.size = n
		if placed := h.placed(traced); placed > most {
			best, most = n, placed
		}
	}
	h.size = best
}

// traced are tasks on whose stacks return addresses were replaced.
func (h *hookFinder) traced() (list []tracedTask) {
	for _, comm := range h.found[:min(len(h.found), maxSearched)] {
		if h.ctx.Err() != nil {
			break
		}
		regs, ok := h.registers(comm, h.context.at)
		stack := h.stackOf(comm)
		if !ok || !stack.Contains(regs.Val[h.Arch.SP]) {
			continue
		}
		for at := range (target.Range{Lo: regs.Val[h.Arch.SP], Hi: stack.Hi}).Words(h.word) {
			if v, ok := h.Memory.Word(at); ok && slices.Contains(h.Hooks, v) {
				list = append(list, tracedTask{comm, stack})
				break
			}
		}
		if len(list) == maxVoters {
			break
		}
	}
	return list
}

// tracedTask is a task, and its stack.
type tracedTask struct {
	comm  uint64
	stack target.Range
}

// mostEntries is the field by which most tasks have entries of their own, if at least half of them do. What tasks
// share are no entries: fair_sched_class of MIPS, a table of functions, holds the address of one behind a call at
// the end of another function, and right behind that the address of what the call goes to.
func (h *hookFinder) mostEntries(traced []tracedTask, entries func(t *tracedTask, at uint64) []target.HookedReturn, paths ...[]string) (best field) {
	most, own := 0, make(map[uint64]bool, len(traced))
	for d := range h.distances(h.whole(), paths...) {
		n := 0
		clear(own)
		for i, t := range traced {
			if i == 4 && n == 0 {
				break
			}
			p, ok := h.Memory.Word(at(t.comm, d))
			if ok && p%h.word == 0 && !own[p] && !t.stack.Contains(p) && h.anyOf(&t, entries(&t, p)) {
				own[p] = true
				n++
			}
		}
		if n > most {
			most, best = n, field{d, n*2 >= len(traced)}
		}
	}
	return best
}

// anyOf tells whether one of the calls was made by a task: on its stack or, where the kernel keeps
// no places, by a call that goes to the function.
func (h *hookFinder) anyOf(t *tracedTask, list []target.HookedReturn) bool {
	return slices.ContainsFunc(list, func(call target.HookedReturn) bool {
		if call.Places == [2]uint64{} {
			return h.calls(call.Return, call.Function)
		}
		return t.stack.Contains(call.Places[0]) || t.stack.Contains(call.Places[1])
	})
}

// hookedCalls are the calls of a task that tracers know.
func (h *hookFinder) hookedCalls(comm uint64) (list []target.HookedReturn) {
	if p, ok := h.Memory.Word(at(comm, h.returns.at)); ok && h.returns.known {
		if h.size > 0 {
			list = h.entries(p, h.current(comm))
		} else {
			list = h.returnStack(p)
		}
	}
	if p, ok := h.Memory.Word(at(comm, h.probes.at)); ok && h.probes.known {
		list = append(list, h.probed(&tracedTask{comm, h.stackOf(comm)}, p)...)
	}
	return list
}

// current is task_struct.curr_ret_stack, which stands before curr_ret_depth and ret_stack: the
// index of the last entry in use, −1 without any.
func (h *hookFinder) current(comm uint64) int {
	v, _ := h.Memory.Uint(at(comm, h.returns.at-8), 4)
	return int(int32(v))
}

// placed counts the tasks whose entries in use have places on the task's stack; negative where a
// task has fewer entries than the index says, or none.
func (h *hookFinder) placed(traced []tracedTask) (n int) {
	for i := range traced {
		t := &traced[i]
		p, _ := h.Memory.Word(at(t.comm, h.returns.at))
		last := h.current(t.comm)
		list := h.entries(p, last)
		if last < 0 || len(list) != last+1 {
			return -1
		}
		if h.anyOf(t, list) && list[0].Places != [2]uint64{} {
			n++
		}
	}
	return n
}

// entries reads the entries of function_graph up to one with an index (struct ftrace_ret_stack),
// fewer where one is none: a return address and the function called, then, as the kernel was
// built, times, the frame pointer, and the address of the word that held the return address.
func (h *hookFinder) entries(p uint64, last int) (list []target.HookedReturn) {
	words := h.words(p, maxReturnStack)
	for i := 0; i <= last && (i+1)*h.size <= len(words); i++ {
		call, ok := h.call(words[i*h.size : (i+1)*h.size])
		if !ok {
			break
		}
		list = append(list, call)
	}
	return list
}

// call takes an entry apart: places are those of its words that are addresses of data.
func (h *hookFinder) call(words []uint64) (call target.HookedReturn, ok bool) {
	if !h.isCode(words[0]) || !h.isCode(words[1]) {
		return call, false
	}
	call = target.HookedReturn{Return: words[0], Function: words[1]}
	places := call.Places[:0]
	for _, v := range words[2:] {
		if h.isPlace(v) && len(places) < len(call.Places) {
			places = append(places, v)
		}
	}
	return call, true
}

// returnStack finds entries of any size at an address. Behind those in use stand others that are
// not, and since Linux 6.11 other tracers' words between them. The first may return where no call
// stands before: a system call of ARM returns to ret_fast_syscall.
func (h *hookFinder) returnStack(p uint64) (list []target.HookedReturn) {
	words := h.words(p, maxReturnStack)
	for i := 0; i+2 < len(words); {
		if !h.isCode(words[i+1]) || !h.isReturn(words[i]) && (i > 0 || !h.isCode(words[i])) {
			if i++; len(list) == 0 && i > entryWords {
				return nil
			}
			continue
		}
		next := i + 2
		for next < len(words) && next < i+entryWords && !h.isReturn(words[next]) {
			next++
		}
		if call, ok := h.call(words[i:next]); ok {
			list = append(list, call)
		}
		i = next
	}
	return list
}

// probed follows the list of kretprobes' nodes (struct kretprobe_instance, struct rethook_node),
// the call made last first: the next node, the probe, the return address, and the stack pointer
// at the call. MIPS keeps no stack pointer, and ARM r11, which need not point to the stack: there the probe says which
// function was called.
func (h *hookFinder) probed(t *tracedTask, p uint64) (list []target.HookedReturn) {
	for range maxProbes {
		node := h.words(p, 4*h.word)
		if len(node) < 4 || !h.isReturn(node[2]) {
			break
		}
		call := target.HookedReturn{Return: node[2]}
		if t.stack.Contains(node[3]) && h.isPlace(node[3]) {
			call.Places[0] = node[3]
		} else if call.Function = h.probedFunction(node[1]); call.Function == 0 {
			break
		}
		list = append(list, call)
		if p = node[0]; p == 0 {
			break
		}
	}
	slices.Reverse(list)
	return list
}

// probedFunction is the function that a kretprobe is of, 0 where there is none: struct kretprobe_holder begins
// with the address of the kretprobe, that with a kprobe, which has the place behind two lists and a counter.
func (h *hookFinder) probedFunction(holder uint64) uint64 {
	probe, _ := h.Memory.Word(holder)
	if at, ok := h.Memory.Word(probe + 5*h.word); ok && h.isCode(at) {
		return at
	}
	return 0
}
