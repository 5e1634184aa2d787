package vmcore

import (
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// stream makes the snapshot of the machine.
func (d *dump) stream(env *input.Env) (input.Stream, error) {
	copies, err := d.identify(env.Archs)
	if err != nil {
		return nil, err
	}
	var best view
	found := d.issues
	for _, k := range copies {
		d.issues = slices.Clip(found)
		if v := d.view(k, env.Files); v.beats(&best) {
			v.snap.Issues = d.issues
			best = v
		}
	}
	if len(best.snap.Threads) == 0 {
		return nil, d.errorf("neither tasks nor registers of processors were found")
	}
	return input.One(best.snap), nil
}

// view is what is seen through one copy of the kernel; tasks are those of which registers are known.
type view struct {
	snap            *target.Snapshot
	tasks, mappings int
}

// beats tells whether more is seen than in another view: more tasks, else more memory.
func (v *view) beats(o *view) bool {
	return o.snap == nil || v.tasks > o.tasks || v.tasks == o.tasks && v.mappings > o.mappings
}

// view makes the snapshot that is seen through one copy of the kernel.
func (d *dump) view(k identity, files *input.Files) view {
	s, err := translation{d.arch, d.physical, d.info}.space(k)
	if err != nil {
		d.issue(target.IssueCapture, "%v", err)
	}
	kernel := d.kernel(k, s, files)
	snap := &target.Snapshot{Arch: d.arch, OS: "Linux", Command: "Linux " + d.info.Release(), Time: d.info.CrashTime(), Memory: s.memory, Log: d.log(s.memory, kernel.data)}
	if mask, ok := d.info.Number("KERNELPACMASK"); ok && mask != 0 {
		snap.CodeMask = ^mask
	}
	if kernel.module != nil {
		snap.Modules = append(snap.Modules, kernel.module)
		snap.Hooks = hooks(kernel.module)
	}
	snap.Modules = append(snap.Modules, moduleReader{d.arch, s.memory}.modules(&kernel)...)
	found, err := tasks.Find(&tasks.Kernel{Arch: d.arch, Memory: s.memory, Text: kernel.text,
		Init: d.initTask(k, s.memory), Idle: d.idleTasks(s), CPUs: len(d.cpus), Hooks: snap.Hooks, Fields: kernel.fields})
	if err != nil {
		d.issue(target.IssueCapture, "%v", err)
	}
	snap.Threads = threads(found, d.cpus, d.arch)
	d.takeReported(snap, found)
	snap.SortModules()
	known := 0
	for i := range found {
		if found[i].Regs.Known != 0 {
			known++
		}
	}
	return view{snap, known, len(s.mappings)}
}

// hooks are where tracers make functions return to, as far as the kernel has names.
func hooks(kernel *target.Module) (at []uint64) {
	for _, name := range []string{
		"return_to_handler",                                                         // function_graph
		"__kretprobe_trampoline", "kretprobe_trampoline", "arch_rethook_trampoline", // kretprobes: before Linux 5.16, since, with rethooks
	} {
		if s, ok := kernel.Image.Symbols.Named(name); ok {
			at = append(at, kernel.ToTarget(s.Addr))
		}
	}
	return at
}

// initTask are the virtual addresses at which the first task's comm may lie: the kernel
// links it in, so that it moves with the rest of the kernel.
func (d *dump) initTask(k identity, memory *target.Memory) (at []uint64) {
	const reach, most = 128 << 20, 16
	for _, name := range []string{"swapper/0\x00", "swapper\x00"} {
		near := target.Range{Lo: k.at - min(k.at, reach), Hi: k.at + reach}
		searchIn(d.physical, near, name, func(pa uint64) bool {
			va := (pa + k.offset) & d.arch.AddrMask()
			if _, mapped := memory.PermAt(va); mapped {
				at = append(at, va)
			}
			return len(at) < most
		})
	}
	return at
}

// idleTasks are the virtual addresses at which the comm of another processor's idle task may
// lie: memory that the kernel has allocated, which its linear mapping shows. All memory of a
// machine that runs is not searched.
func (d *dump) idleTasks(s space) (at []uint64) {
	const most = 4096
	if d.shown != nil {
		return nil
	}
	var physical []uint64
	search(d.physical, "swapper/", func(pa uint64) bool {
		if c := bytesAt(d.physical, pa+8, 1); len(c) == 1 && c[0] >= '1' && c[0] <= '9' {
			physical = append(physical, pa)
		}
		return len(physical) < most
	})
	for _, pa := range physical {
		at = append(at, s.virtual(pa)...)
	}
	return at
}
