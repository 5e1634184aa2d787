// Package tasks finds the tasks of a stopped Linux kernel in its memory, by what struct
// task_struct holds and not by where a certain build keeps it: kernels are built with a
// thousand configurations, and few come with debug information. Where the kernel has its types
// (BTF), they tell where to look.
//
//	"swapper/0"          the first task's comm; the kernel links it in
//	one list             whose nodes all have a name at one distance: task_struct.tasks
//	votes of all tasks   at which distance a saved context lies (PC in the kernel's code, SP
//	                     on a stack), the stack's address, the pid, on_cpu
//	more lists           by which tasks lead to further tasks: threads
//
// Specifications: Linux include/linux/sched.h, include/linux/list.h, and the processors'
// switch_to.h.
package tasks

import (
	"cmp"
	"context"
	"errors"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Task is a task. Addresses are the kernel's.
type Task struct {
	// Comm is task_struct.comm, and At its address, by which the task is known here.
	Comm string
	At   uint64
	// PID is the thread's number, 0 for the idle tasks; negative where it was not found.
	PID int
	// Regs are the registers that the task was switched out with, those that functions
	// preserve; the PC is a return address. None are known where no context was found.
	Regs cpu.Registers
	// OnCPU: the task was running, so that Regs is of a moment before.
	OnCPU bool
	// CPU is the number of the processor that the task ran on, negative where it was not found.
	CPU int
	// State is "running", "ready" (it could run), "sleeping", "uninterruptible", "idle" (a thread of
	// the kernel that waits for work), "stopped", "traced", "parked", "zombie" or "dead"; "" where
	// that was not found.
	State string
	// Stack bounds the task's stack, Lo == Hi where it was not found.
	Stack target.Range
	// Hooked are the calls of which tracers replaced the return address.
	Hooked []target.HookedReturn
}

// Kernel is a kernel whose tasks are looked for.
type Kernel struct {
	Arch   *cpu.Arch
	Memory *target.Memory // the kernel's address space
	// Text is the kernel's own code.
	Text target.Range
	// Init are addresses at which the first task's comm may lie, and Idle those of other
	// idle tasks.
	Init, Idle []uint64
	// CPUs is the number of processors, 0 unknown.
	CPUs int
	// Hooks are the addresses that tracers put in the place of return addresses.
	Hooks []uint64
	// Fields says where the fields of task_struct lie, where the kernel has its types (BTF), and
	// nil elsewhere. The path leads into structures. What lies there is checked all the same.
	Fields func(path ...string) (offset uint64, ok bool)
}

// ErrNone is that of a memory in which no list of tasks was found.
var ErrNone = errors.New("no list of tasks was found")

// Find finds the tasks, in the order of the list, which begins with the first idle task. Where ctx ends, the error
// is that of ctx.
func Find(ctx context.Context, k *Kernel) ([]Task, error) {
	f := finder{reader: reader{ctx: ctx, Kernel: k, word: uint64(k.Arch.AddrSize)}}
	for _, at := range k.Init {
		if f.list(at); len(f.found) > 1 {
			break
		}
	}
	if len(f.found) == 0 {
		return nil, cmp.Or(ctx.Err(), ErrNone)
	}
	f.findContext()
	f.findStack()
	f.findThreads()
	f.addIdle(f.isTask)
	f.findPID()
	f.addIdle(f.isIdle)
	runFinder{&f}.find()
	f.findState()
	h := hookFinder{finder: &f}
	h.findHooked()
	tasks := make([]Task, 0, len(f.found))
	for _, at := range f.found {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		t := f.task(at)
		t.Hooked = h.hookedCalls(at)
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// distance is from a task's comm to another of its fields.
type distance int64

// field is where one of task_struct's fields lies.
type field struct {
	at    distance
	known bool
}

// layout is where the fields of interest lie.
type layout struct {
	context, stack, pid, onCPU field
	flagSize                   int   // of on_cpu: 4 bytes, one in Linux 7.2
	processor                  field // thread_info.cpu
	state, exit                field // __state and exit_state
}

// finder is the search for tasks.
type finder struct {
	reader
	layout
	found []uint64
	known map[uint64]bool
	// current is the task that ran on the only processor, 0 where that is not known.
	current uint64

	leaders   int // found[:leaders] are on the list of tasks
	stackSize uint64
}

// at is the address of a field of a task.
func at(comm uint64, d distance) uint64 { return comm + uint64(d) }

// task reads a task's fields.
func (f *finder) task(comm uint64) Task {
	t := Task{Comm: f.comm(comm), At: comm, PID: -1, CPU: -1}
	if f.pid.known {
		v, _ := f.Memory.Uint(at(comm, f.pid.at), 4)
		t.PID = int(int32(v))
	}
	if f.context.known {
		t.Regs, _ = f.registers(comm, f.context.at)
		f.addShadow(comm, &t.Regs)
	}
	t.Stack = f.stackOf(comm)
	t.OnCPU = comm == f.current
	if f.onCPU.known {
		v, _ := f.Memory.Uint(at(comm, f.onCPU.at), f.flagSize)
		t.OnCPU = v == 1
	}
	if f.processor.known {
		v, _ := f.Memory.Uint(at(comm, f.processor.at), 4)
		t.CPU = int(v)
	}
	t.State = f.stateOf(comm, t.OnCPU)
	return t
}

// addShadow adds the pointer to the task's shadow call stack (scs_save, arch/arm64/include/asm/scs.h; gp of RISC-V), where the
// kernel's types say that it keeps one.
func (f *finder) addShadow(comm uint64, regs *cpu.Registers) {
	d, ok := f.stated([][]string{{"thread_info", "scs_sp"}})
	if !ok || regs.Known == 0 || f.Arch.Platform == 0 {
		return
	}
	if top, ok := f.Memory.Word(at(comm, d)); ok && top != 0 {
		regs.Set(f.Arch.Platform.First(), top)
	}
}

// stackOf bounds a task's stack, empty where it was not found.
func (f *finder) stackOf(comm uint64) target.Range {
	if !f.stack.known {
		return target.Range{}
	}
	lo, _ := f.Memory.Word(at(comm, f.stack.at))
	return target.RangeOf(lo, f.stackSize)
}
