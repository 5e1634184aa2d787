package stackdepth

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// task is a function that a kernel starts on a stack of its own.
type task struct {
	at   disasm.Addr
	name string
	size uint64 // of the stack, 0 where the code does not tell
	by   string // the function that creates the task
}

// creation is a function that creates tasks: which of its arguments is the task's function, and which the size of its stack. The
// size counts words of the stack where unit is 0, else so many bytes; attr is where a structure has it to which the argument points.
type creation struct {
	name           string
	function, size int
	unit           uint64
	attr           uint64
}

// creations are those of real-time kernels and of C libraries. Sources: FreeRTOS task.h; ESP-IDF freertos/idf_additions.h; Zephyr
// kernel.h; ThreadX tx_api.h; RT-Thread rtthread.h; CMSIS-RTOS2 cmsis_os2.h (osThreadAttr_t: five words stand in front of
// stack_size); NuttX sched.h; ChibiOS chthreads.h, chdynamic.h; POSIX; C11.
var creations = [...]creation{
	{name: "xTaskCreate", function: 0, size: 2},
	{name: "xTaskCreateStatic", function: 0, size: 2},
	{name: "xTaskCreatePinnedToCore", function: 0, size: 2, unit: 1},
	{name: "xTaskCreateStaticPinnedToCore", function: 0, size: 2, unit: 1},
	{name: "k_thread_create", function: 3, size: 2, unit: 1},
	{name: "z_impl_k_thread_create", function: 3, size: 2, unit: 1},
	{name: "_tx_thread_create", function: 2, size: 5, unit: 1},
	{name: "_txe_thread_create", function: 2, size: 5, unit: 1},
	{name: "rt_thread_create", function: 1, size: 3, unit: 1},
	{name: "rt_thread_init", function: 2, size: 5, unit: 1},
	{name: "osThreadNew", function: 0, size: 2, unit: 1, attr: 5},
	{name: "task_create", function: 3, size: 2, unit: 1},
	{name: "nxtask_create", function: 3, size: 2, unit: 1},
	{name: "chThdCreateStatic", function: 3, size: 1, unit: 1},
	{name: "chThdCreateFromHeap", function: 4, size: 1, unit: 1},
	{name: "pthread_create", function: 2, size: -1},
	{name: "thrd_create", function: 1, size: -1},
}

// argumentRegisters are the registers of the first arguments, by the names of processors. Those of i386 are on the stack.
func argumentRegisters(arch *cpu.Arch) []string {
	switch arch.Name {
	case "arm":
		return []string{"r0", "r1", "r2", "r3"}
	case "aarch64":
		return []string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"}
	case "mips":
		return []string{"a0", "a1", "a2", "a3"}
	case "mips64":
		return []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}
	case "riscv32", "riscv64":
		return []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}
	case "x86_64":
		return []string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}
	}
	return nil
}

// argument is what a call passes.
func (g *graph) argument(st *absint.State, n int) absint.Value {
	names, arch := argumentRegisters(g.code.Arch), g.code.Arch
	if n < len(names) {
		r, _ := arch.RegByName(names[n])
		return st.Get(r)
	}
	at := int64(n-len(names)) * int64(arch.RegSize)
	if arch.Name == "mips" {
		at = int64(n) * int64(arch.RegSize) // the callee's room for those in registers comes first
	}
	return st.Load(st.Get(arch.SP).Plus(at), uint8(arch.RegSize))
}

// findTasks finds the tasks in the calls that create them.
func findTasks(g *graph) (list []task) {
	for i := range creations {
		c := &creations[i]
		sym, known := g.code.Img.Symbols.Named(c.name)
		for k := range g.nodes {
			for n := range g.nodes[k].use.Calls {
				call := &g.nodes[k].use.Calls[n]
				named := known && len(call.To) == 1 && call.To[0].PC == sym.Addr
				if !named && call.Import != c.name {
					continue
				}
				if t, ok := g.created(c, g.nodes[k].use.Entry, call.Site); ok {
					list = append(list, t)
				}
			}
		}
	}
	return append(list, g.staticThreads()...)
}

// created is the task that a call creates.
func (g *graph) created(c *creation, caller, site disasm.Addr) (t task, ok bool) {
	var st absint.State
	f := g.code.Flows.Function(caller)
	if !dataflow.StateAtCall(f, site, &st) {
		return t, false
	}
	if t.at, ok = dataflow.Resolve(f, g.argument(&st, c.function)); !ok {
		return t, false
	}
	t.name, t.by = nameOf(g.code.Img, t.at), c.name
	if c.size < 0 {
		return t, true
	}
	v := g.argument(&st, c.size)
	if v.Kind != absint.Constant || v.Base == absint.FromWritable {
		return t, true
	}
	t.size = uint64(v.Off) & g.code.Arch.AddrMask()
	word := uint64(g.code.Arch.AddrSize)
	switch {
	case c.attr > 0 && t.size == 0: // the kernel's own size
	case c.attr > 0:
		t.size, _ = g.code.Img.Word(t.size + c.attr*word)
	case c.unit == 0:
		t.size *= word
	}
	return t, true
}

// maxStatic bounds the threads in a table.
const maxStatic = 1024

// staticThreads are those of Zephyr's K_THREAD_DEFINE: structures between two symbols that the linker makes, which begin with the
// thread, its stack, the stack's size and the function (include/zephyr/kernel.h, struct _static_thread_data).
func (g *graph) staticThreads() (list []task) {
	from, ok := g.code.Img.Symbols.Named("__static_thread_data_list_start")
	to, ends := g.code.Img.Symbols.Named("__static_thread_data_list_end")
	if !ok || !ends || to.Addr <= from.Addr {
		return nil
	}
	word := uint64(g.code.Arch.AddrSize)
	for at := from.Addr; at < to.Addr && len(list) < maxStatic; at += word {
		size, known := g.code.Img.Word(at + 2*word)
		v, _ := g.code.Img.Word(at + 3*word)
		if entry, ok := g.code.Pointer(v); known && ok && g.has(entry) && size < 1<<20 {
			list = append(list, task{at: entry, name: nameOf(g.code.Img, entry), size: size, by: "K_THREAD_DEFINE"})
			at += 3 * word
		}
	}
	return list
}
