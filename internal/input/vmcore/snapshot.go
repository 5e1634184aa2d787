package vmcore

import (
	"context"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/linux"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// stream makes the snapshot of the machine.
func (d *dump) stream(ctx context.Context, env *input.Env) (input.Stream, error) {
	s, err := d.machine(ctx, env)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (d *dump) machine(ctx context.Context, env *input.Env) (*machineStream, error) {
	copies, err := d.identify(ctx, env.Archs)
	if err != nil {
		return nil, err
	}
	d.arch = variantOf(ctx, d, env.Archs, &copies[0])
	if err := d.takeRegisters(env); err != nil {
		return nil, err
	}
	var best view
	found := d.issues
	for _, k := range copies {
		d.issues = slices.Clip(found)
		if v := d.view(ctx, k, env.Files); v.beats(&best) {
			v.issues = d.issues
			best = v
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.issues = best.issues
	snap := d.snapshot(ctx, &best)
	if len(snap.Threads) == 0 {
		return nil, d.errorf("neither tasks nor registers of processors were found")
	}
	return &machineStream{Stream: input.One(snap), dump: d, view: best, env: env, snap: snap, threads: snap.Threads}, nil
}

// view is what one copy of the kernel shows. known counts the tasks with known registers.
type view struct {
	copy   identity
	space  space
	kernel kernelImage
	hooks  []uint64
	tasks  []tasks.Task
	known  int
	issues []target.Issue
}

// beats tells whether more is seen than in another view: more tasks, else more memory.
func (v *view) beats(o *view) bool {
	return o.space.memory == nil || v.known > o.known || v.known == o.known && len(v.space.mappings) > len(o.space.mappings)
}

// view looks at the machine through one copy of the kernel.
func (d *dump) view(ctx context.Context, k identity, files *input.Files) (v view) {
	var err error
	v.copy = k
	if v.space, err = (translation{ctx, d.arch, d.physical, d.info}).space(k); err != nil {
		d.issue(target.IssueCapture, "%v", err)
	}
	v.kernel = d.kernel(ctx, k, v.space, files)
	if v.kernel.module != nil {
		v.hooks = linux.Hooks(v.kernel.module)
	}
	first, others := d.idleTasks(ctx, k, v.space)
	v.tasks, err = tasks.Find(ctx, &tasks.Kernel{Arch: d.arch, Memory: v.space.memory, Text: v.kernel.text,
		Init: first, Idle: others, CPUs: d.count, Hooks: v.hooks, Fields: v.kernel.fields})
	if err != nil {
		d.issue(target.IssueCapture, "%v", err)
	}
	for i := range v.tasks {
		if v.tasks[i].Regs.Known != 0 {
			v.known++
		}
	}
	return v
}

// snapshot is the machine as a view shows it.
func (d *dump) snapshot(ctx context.Context, v *view) *target.Snapshot {
	memory := v.space.memory
	snap := &target.Snapshot{Arch: d.arch, OS: "Linux", Command: "Linux " + d.info.Release(), Time: d.info.CrashTime(),
		Memory: memory, Told: target.Told{Log: d.log(memory, v.kernel.data)}, Hooks: v.hooks}
	if mask, ok := d.info.Number("KERNELPACMASK"); ok && mask != 0 {
		snap.CodeMask = ^mask
	}
	if v.kernel.module != nil {
		snap.Modules = append(snap.Modules, v.kernel.module)
	}
	snap.Modules = append(snap.Modules, moduleReader{d.arch, memory}.modules(&v.kernel)...)
	if len(d.cpus) == 1 {
		if said := v.leaveVector(d.arch, &d.cpus[0], d.epc); said != "" {
			d.issue(target.IssueCapture, "%s", said)
		}
	}
	snap.Threads = threads(v.tasks, d.cpus, d.arch, panicked(v.kernel.module, memory, snap.Log))
	for i := range snap.Threads {
		th := &snap.Threads[i]
		th.AtVector = !th.Waits && v.isVector(d.arch, th.Regs.Val[d.arch.PC])
	}
	d.takeReported(ctx, snap, v.tasks)
	snap.SortModules()
	snap.Issues = d.issues
	return snap
}
