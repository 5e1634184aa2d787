package kernellog

import (
	"context"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// Crash is a crash that a kernel's log reports.
type Crash struct {
	// PID is the process ID of the task that was running, negative where the log does not say.
	PID int
	// Regs are the registers as they were, as far as the log prints them.
	Regs cpu.Registers
	// Fault is why, but for the thread.
	Fault target.Fault
}

// HasPlace tells whether the registers say where the crash was.
func (c *Crash) HasPlace(arch *cpu.Arch) bool {
	return c.Regs.Known.Has(arch.PC) && c.Regs.Known.Has(arch.SP)
}

// LastCrash finds the last report of a crash in the log of a machine whose binaries are known: the kernel ("vmlinux")
// and its modules, by which registers have values that are printed as symbols. One without registers counts where
// none has some: behind an oops comes the panic for its sake. ok is false where there is none.
func LastCrash(ctx context.Context, text string, arch *cpu.Arch, modules []*target.Module) (last Crash, ok bool) {
	b := &binaries{arch: arch, modules: map[string]*target.Module{}, symbols: symbols{known: map[symbolKey]symbolAt{}}}
	for _, m := range modules {
		if m.Name == "vmlinux" {
			b.kernel = m
		} else {
			b.modules[m.Name] = m
		}
	}
	for _, r := range scan(console.NewLog(ctx, []byte(text))).records {
		if !r.crash || r.isMixed() {
			continue
		}
		c := Crash{PID: r.pid, Regs: registersOf(r, b), Fault: *faultOf(r)}
		if !ok || c.HasPlace(arch) || !last.HasPlace(arch) {
			last, ok = c, true
		}
	}
	return last, ok
}

// Panicked tells whether the kernel stopped for good: nothing ran on the processor behind the
// last crash.
func Panicked(text string) bool { return strings.Contains(text, Panic) }

// Panic is how the line begins that a kernel prints when it stops for good.
const Panic = "Kernel panic - not syncing"
