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
)

// hookLayout is where tracers keep what they replaced on a task's stack.
type hookLayout struct {
	// returns is the pointer to function_graph's entries, task_struct.ret_stack; probes the one
	// to kretprobes' nodes, kretprobe_instances or rethooks.
	returns, probes field
	// entry is the size of an entry of function_graph in words, 0 where entries differ, as they
	// do since Linux 6.11, or have no index of the last one in use.
	entry int
}

// findHooked finds where tasks keep what a tracer replaced on their stacks: of all pointers in
// task_struct, those behind which most tasks with such stacks have entries.
func (f *finder) findHooked() {
	if !f.context.known || !f.stack.known || len(f.Hooks) == 0 {
		return
	}
	traced := f.traced()
	if len(traced) == 0 {
		return
	}
	f.hooks.returns = f.mostEntries(traced, f.returnStack, []string{"ret_stack"})
	f.hooks.probes = f.mostEntries(traced, f.probed, []string{"rethooks"}, []string{"kretprobe_instances"})
	if f.hooks.returns.known {
		f.findEntry(traced)
	}
}

// findEntry finds the size of function_graph's entries: the smallest with which all traced tasks
// have as many as the index says, and the most of these have places.
func (f *finder) findEntry(traced []tracedTask) {
	best, most := 0, -1
	for n := 3; n <= entryWords; n++ {
		f.hooks.entry = n
		if placed := f.placed(traced); placed > most {
			best, most = n, placed
		}
	}
	f.hooks.entry = best
}

// traced are tasks on whose stacks return addresses were replaced.
func (f *finder) traced() (list []tracedTask) {
	for _, comm := range f.found {
		regs, ok := f.registers(comm, f.context.at)
		stack := f.stackOf(comm)
		if !ok || !stack.Contains(regs.Val[f.Arch.SP]) {
			continue
		}
		for at := regs.Val[f.Arch.SP]; at < stack.Hi; at += f.word {
			if v, ok := f.Memory.Word(at); ok && slices.Contains(f.Hooks, v) {
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

// mostEntries is the field by which most tasks have entries, if at least half of them do.
func (f *finder) mostEntries(traced []tracedTask, entries func(at uint64) []target.HookedReturn, paths ...[]string) (best field) {
	most := 0
	for d := range f.distances(f.whole(), paths...) {
		n := 0
		for i, t := range traced {
			if i == 4 && n == 0 {
				break
			}
			p, ok := f.Memory.Word(at(t.comm, d))
			if ok && p%f.word == 0 && !t.stack.Contains(p) && f.anyOf(&t, entries(p)) {
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
func (f *finder) anyOf(t *tracedTask, list []target.HookedReturn) bool {
	return slices.ContainsFunc(list, func(h target.HookedReturn) bool {
		if h.Places == [2]uint64{} {
			return f.calls(h.Return, h.Function)
		}
		return t.stack.Contains(h.Places[0]) || t.stack.Contains(h.Places[1])
	})
}

// hookedCalls are the calls of a task that tracers know.
func (f *finder) hookedCalls(comm uint64) (list []target.HookedReturn) {
	if p, ok := f.Memory.Word(at(comm, f.hooks.returns.at)); ok && f.hooks.returns.known {
		if f.hooks.entry > 0 {
			list = f.entries(p, f.current(comm))
		} else {
			list = f.returnStack(p)
		}
	}
	if p, ok := f.Memory.Word(at(comm, f.hooks.probes.at)); ok && f.hooks.probes.known {
		list = append(list, f.probed(p)...)
	}
	return list
}

// current is task_struct.curr_ret_stack, which stands before curr_ret_depth and ret_stack: the
// index of the last entry in use, −1 without any.
func (f *finder) current(comm uint64) int {
	v, _ := f.Memory.Uint(at(comm, f.hooks.returns.at-8), 4)
	return int(int32(v))
}

// placed counts the tasks whose entries in use have places on the task's stack; negative where a
// task has fewer entries than the index says, or none.
func (f *finder) placed(traced []tracedTask) (n int) {
	for i := range traced {
		t := &traced[i]
		p, _ := f.Memory.Word(at(t.comm, f.hooks.returns.at))
		last := f.current(t.comm)
		list := f.entries(p, last)
		if last < 0 || len(list) != last+1 {
			return -1
		}
		if f.anyOf(t, list) && list[0].Places != [2]uint64{} {
			n++
		}
	}
	return n
}

// entries reads the entries of function_graph up to one with an index (struct ftrace_ret_stack),
// fewer where one is none: a return address and the function called, then, as the kernel was
// built, times, the frame pointer, and the address of the word that held the return address.
func (f *finder) entries(p uint64, last int) (list []target.HookedReturn) {
	size := f.hooks.entry
	words := f.words(p, maxReturnStack)
	for i := 0; i <= last && (i+1)*size <= len(words); i++ {
		h, ok := f.entry(words[i*size : (i+1)*size])
		if !ok {
			break
		}
		list = append(list, h)
	}
	return list
}

// entry takes words apart: places are those that are addresses of data.
func (f *finder) entry(words []uint64) (h target.HookedReturn, ok bool) {
	if !f.isCode(words[0]) || !f.isCode(words[1]) {
		return h, false
	}
	h = target.HookedReturn{Return: words[0], Function: words[1]}
	places := h.Places[:0]
	for _, v := range words[2:] {
		if f.isPlace(v) && len(places) < len(h.Places) {
			places = append(places, v)
		}
	}
	return h, true
}

// returnStack finds entries of any size at an address. Behind those in use stand others that are
// not, and since Linux 6.11 other tracers' words between them.
func (f *finder) returnStack(p uint64) (list []target.HookedReturn) {
	words := f.words(p, maxReturnStack)
	for i := 0; i+2 < len(words); {
		if !f.isReturn(words[i]) || !f.isCode(words[i+1]) {
			if i++; len(list) == 0 && i > entryWords {
				return nil
			}
			continue
		}
		next := i + 2
		for next < len(words) && next < i+entryWords && !f.isReturn(words[next]) {
			next++
		}
		if h, ok := f.entry(words[i:next]); ok {
			list = append(list, h)
		}
		i = next
	}
	return list
}

// probed follows the list of kretprobes' nodes (struct kretprobe_instance, struct rethook_node),
// the call made last first: the next node, the probe, the return address, and the stack pointer
// at the call.
func (f *finder) probed(p uint64) (list []target.HookedReturn) {
	for range maxProbes {
		node := f.words(p, 4*f.word)
		if len(node) < 4 || !f.isReturn(node[2]) || !f.isPlace(node[3]) {
			break
		}
		list = append(list, target.HookedReturn{Return: node[2], Places: [2]uint64{node[3]}})
		if p = node[0]; p == 0 {
			break
		}
	}
	slices.Reverse(list)
	return list
}

// calls tells whether the call before a return address goes to a function: to its beginning, or
// through instructions of a few bytes before the one that traces.
func (f *finder) calls(ra, function uint64) bool {
	const least = 16
	site, ok := f.callBefore(ra)
	return ok && site.Direct && function-site.Target <= least
}

// words reads size bytes of memory, fewer where it ends.
func (f *finder) words(p, size uint64) []uint64 {
	var words []uint64
	for at := p; at < p+size; at += f.word {
		v, ok := f.Memory.Word(at)
		if !ok {
			break
		}
		words = append(words, v)
	}
	return words
}

// isReturn tells whether a word is the return address of a call, or a tracer's.
func (f *finder) isReturn(v uint64) bool {
	return slices.Contains(f.Hooks, v) || f.isCode(v) && f.behindCall(v)
}

// isCode tells whether code may run at an address.
func (f *finder) isCode(v uint64) bool {
	perm, ok := f.Memory.PermAt(v)
	return f.Text.Contains(v) || ok && perm&target.PermExec != 0
}

// isPlace tells whether an address is one of data, as those of words on stacks are. Where MIPS's
// memory is not mapped by tables, all can be executed and written.
func (f *finder) isPlace(v uint64) bool {
	perm, mapped := f.Memory.PermAt(v)
	return mapped && v%f.word == 0 && !f.Text.Contains(v) && perm&(target.PermWrite|target.PermExec) != target.PermExec
}
