package stackdepth

import (
	"cmp"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/code/disasm"
)

// root is a function where a stack begins.
type root struct {
	node       int
	kind, name string
	size       uint64
	from       string
	// interrupted: handlers run on this stack. banked: they have a stack of their own, and leave nothing but what the processor and
	// the switch to another task push; extra is that.
	interrupted, banked bool
	extra               int64
}

// entries are the nodes of roots.
func entries(roots []root) []int {
	list := make([]int, len(roots))
	for i := range roots {
		list[i] = roots[i].node
	}
	return list
}

// roots finds where stacks begin: what the user says, a vector table's reset, tasks and handlers, the system calls and exceptions
// of a kernel, else the entry point; else all that nobody calls.
func (g *graph) roots(v *vectors, tasks []task) (list []root) {
	known := map[int]bool{}
	add := func(r root, at disasm.Addr) {
		k, ok := g.at(at)
		if r.node = k; ok && !known[k] {
			known[k], list = true, append(list, r)
		}
	}
	for _, given := range g.notes.roots {
		at, _ := g.find(given.name)
		add(root{kind: "root", size: given.size, from: "annotation", interrupted: len(v.handlers) > 0}, at)
	}
	size, from := v.stack(g.code)
	for _, t := range tasks {
		add(root{kind: "task", name: t.name, size: t.size, from: t.by, interrupted: len(v.handlers) > 0, banked: v.banked,
			extra: v.switched()}, t.at)
	}
	if at, ok := g.code.Pointer(cmp.Or(v.reset, g.code.Img.Entry)); ok && g.code.Img.Entry|v.reset != 0 {
		add(root{kind: "entry", size: size, from: from, interrupted: len(v.handlers) > 0}, at)
	}
	for _, key := range g.code.Entries.HandedOn() {
		add(root{kind: "main"}, g.code.Addr(key))
	}
	for i := range v.handlers {
		add(root{kind: "interrupt"}, v.handlers[i].at)
	}
	g.kernelRoots(add)
	switch {
	case len(list) == 0:
		g.uncalled(add)
	case !g.others:
		for _, k := range g.unreached(entries(list)) {
			add(root{kind: "pointer", interrupted: len(v.handlers) > 0, banked: v.banked, extra: v.switched()}, g.nodes[k].use.Entry)
		}
	}
	return list
}

// unreached are the functions that pointers lead to and that no root calls, in any way: the tasks of a kernel that is not known. A task
// does something: it calls, or has a frame.
func (g *graph) unreached(from []int) (list []int) {
	met := g.below(from)
	for _, k := range g.taken {
		if n := &g.nodes[k]; !met[k] && (len(n.edges) > 0 || n.use.Own > 0) {
			list = append(list, k)
		}
	}
	return list
}

// below tells which functions are called from some, those too.
func (g *graph) below(from []int) (met []bool) {
	met = make([]bool, len(g.nodes))
	todo := slices.Clone(from)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if met[i] {
			continue
		}
		met[i] = true
		for k := range g.nodes[i].edges {
			todo = append(todo, g.nodes[i].edges[k].to)
		}
	}
	return met
}

// uncalled adds the functions that nothing in the image calls: of a library, what it exports, and what pointers lead to.
func (g *graph) uncalled(add func(root, disasm.Addr)) {
	called := make([]bool, len(g.nodes))
	for i := range g.nodes {
		for k := range g.nodes[i].edges {
			called[g.nodes[i].edges[k].to] = called[g.nodes[i].edges[k].to] || i != g.pointer
		}
	}
	for i := range g.nodes {
		if n := &g.nodes[i]; !called[i] && n.use.Steps > 0 && i != g.pointer {
			add(root{kind: "function"}, n.use.Entry)
		}
	}
}

// systemCallPrefixes begin the names of the functions that Linux' table of system calls leads to (include/linux/syscalls.h and the
// asm/syscall_wrapper.h of each processor), exceptionPrefixes those with which its entry code handles exceptions and interrupts
// (arch/x86/include/asm/idtentry.h, arch/arm64/kernel/entry-common.c, arch/riscv/kernel/entry.S, arch/mips/kernel/genex.S).
var (
	systemCallPrefixes = [...]string{"__arm64_sys_", "__x64_sys_", "__ia32_sys_", "__riscv_sys_", "__s390x_sys_", "sys_"}
	exceptionPrefixes  = [...]string{"exc_", "sysvec_", "common_interrupt", "el0t_64_", "el0t_32_", "el1h_64_", "do_trap_", "do_page_fault", "do_irq"}
)

// kernelRoots adds the system calls of a Linux kernel that has its symbols, and what handles exceptions.
func (g *graph) kernelRoots(add func(root, disasm.Addr)) {
	named := func(name string) bool {
		return slices.ContainsFunc(g.nodes, func(n node) bool { return n.name == name })
	}
	if g.code.Img.Interpreted || !named("start_kernel") && !named("do_exit") || !named("schedule") {
		return
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		begins := func(prefix string) bool { return strings.HasPrefix(n.name, prefix) }
		switch {
		case slices.ContainsFunc(systemCallPrefixes[:], begins):
			add(root{kind: "system call"}, n.use.Entry)
		case slices.ContainsFunc(exceptionPrefixes[:], begins):
			add(root{kind: "exception"}, n.use.Entry)
		}
	}
}
