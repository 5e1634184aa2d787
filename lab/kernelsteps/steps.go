// Package kernelsteps checks backtraces of a Linux kernel at each instruction that it executes: a
// machine in QEMU is stopped where a function begins, and stepped by QEMU's GDB server.
//
//	entry of f   LR or the stack says where f returns to; the callers' chain is walked once
//	each step    as long as f runs, its callers stay the same
//
// So prologues, epilogues and all between have a known chain, whatever tables the kernel lacks.
// Calls of other functions are stepped over.
package kernelsteps

import (
	"context"
	"fmt"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/lab/stepper"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Kernel is a kernel that runs.
type Kernel struct {
	Server *stepper.Client
	// Snap is out of a dump of the machine's memory: kernel and modules as they lie in memory.
	Snap *target.Snapshot
	// Steps bounds the instructions of a function that are stepped.
	Steps int
}

// Tally is what became of the steps through a function.
type Tally struct {
	Steps int
	// Whole backtraces have the callers that the function has; Wrong ones have another frame, not
	// marked as a guess; in Lies it was called certain. The others end early, with a reason.
	Whole, Wrong, Lies int
	// First is where the first backtrace was that is not whole, 0 for none.
	First uint64
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.Steps, t.Whole, t.Wrong, t.Lies = t.Steps+o.Steps, t.Whole+o.Whole, t.Wrong+o.Wrong, t.Lies+o.Lies
}

// maxStrays is how many other tasks may run over a breakpoint before ours does, and how many
// instructions outside of the function are stepped before it is left alone.
const maxStrays = 64

// Function waits until a function is called, and checks each instruction up to its return.
func (k *Kernel) Function(ctx context.Context, name string) (t Tally, err error) {
	entry, size, ok := k.named(name)
	if !ok {
		return t, fmt.Errorf("no function %s", name)
	}
	var regs cpu.Registers
	if err := k.runTo(entry); err != nil {
		return t, err
	}
	if err := k.Server.Registers(&regs); err != nil {
		return t, err
	}
	callers, err := k.chain(ctx, &regs)
	if err != nil {
		return t, err
	}
	arch := k.Snap.Arch
	within := target.Range{Lo: entry, Hi: entry + size}
	for strays := 0; t.Steps < k.Steps && strays < maxStrays && ctx.Err() == nil; {
		if _, err := k.Server.Step(0); err != nil {
			return t, err
		}
		if err := k.Server.Registers(&regs); err != nil {
			return t, err
		}
		pc, _, _ := arch.PCOf(&regs)
		if pc == callers[1].PC {
			break // it has returned
		}
		if !within.Contains(pc) {
			if strays++; !k.stepOver(&regs, within) {
				break
			}
			if err := k.Server.Registers(&regs); err != nil {
				return t, err
			}
		}
		frames, err := k.chain(ctx, &regs)
		if err != nil {
			return t, err
		}
		t.judge(callers, frames)
	}
	return t, nil
}

// judge compares the frames at a step with the callers at the entry.
func (t *Tally) judge(callers, frames []unwind.Frame) {
	t.Steps++
	for i := 1; i < len(callers); i++ {
		if i < len(frames) && frames[i].PC == callers[i].PC {
			continue
		}
		if t.First == 0 {
			t.First = frames[0].PC
		}
		if i < len(frames) && frames[i].Trust > unwind.Guess {
			t.Wrong++
			if frames[i].Trust == unwind.Certain {
				t.Lies++
			}
		}
		return
	}
	t.Whole++
}

// named is where a function of the kernel lies.
func (k *Kernel) named(name string) (entry, size uint64, ok bool) {
	for _, m := range k.Snap.Modules {
		if s, ok := m.Image.Symbols.Named(name); ok {
			around, _ := m.Image.Symbols.At(s.Addr)
			return m.ToTarget(s.Addr), around.Size, around.Size > 0
		}
	}
	return 0, 0, false
}

// runTo runs the machine until it comes to a place.
func (k *Kernel) runTo(pc uint64) error {
	kind := int(k.Snap.Arch.InsnAlign)
	if kind != 2 && k.Snap.Arch.ISABit {
		kind = 4 // A32
	}
	if err := k.Server.Break(pc, kind, true); err != nil {
		return err
	}
	if _, err := k.Server.Continue(0); err != nil {
		return err
	}
	return k.Server.Break(pc, kind, false)
}

// stepOver runs on to where a call just made returns to, in the same frame; false where regs do
// not stand behind a call of the function.
func (k *Kernel) stepOver(regs *cpu.Registers, within target.Range) bool {
	arch := k.Snap.Arch
	ra, sp := regs.Val[arch.LR&(cpu.MaxRegs-1)], regs.Val[arch.SP]
	if arch.CallPushesRA {
		var word [8]byte
		if n, err := k.Server.Memory(sp, word[:arch.AddrSize]); err != nil || n < arch.AddrSize {
			return false
		}
		ra = 0
		for i := arch.AddrSize - 1; i >= 0; i-- {
			ra = ra<<8 | uint64(word[i])
		}
		sp += uint64(arch.AddrSize)
	}
	for range maxStrays {
		if !within.Contains(ra) || k.runTo(ra) != nil {
			return false
		}
		var now cpu.Registers
		if k.Server.Registers(&now) != nil {
			return false
		}
		if now.Val[arch.SP] == sp {
			return true
		}
	}
	return false
}

// The stack that is read for a walk: what a kernel's stack has at most, in pieces that end where it
// does. Servers refuse a piece that is not mapped as a whole.
const (
	piece = 1 << 10
	most  = 16 << 10
)

// stack reads the machine's stack from the piece below SP on.
func (k *Kernel) stack(sp uint64) (base uint64, data []byte, err error) {
	base = sp&^(piece-1) - piece
	buf := make([]byte, piece)
	for at := base; at < base+most; at += piece {
		n, err := k.Server.Memory(at, buf)
		data = append(data, buf[:n]...)
		switch {
		case n == 0 && len(data) == 0 && at < sp:
			base = at + piece // SP is at the stack's end
		case n < piece && len(data) == 0:
			return 0, nil, fmt.Errorf("no stack at %#x: %w", sp, err)
		case n < piece:
			return base, data, nil
		}
	}
	return base, data, nil
}

// chain walks from registers through the machine's stack as it is now.
func (k *Kernel) chain(ctx context.Context, regs *cpu.Registers) ([]unwind.Frame, error) {
	base, stack, err := k.stack(regs.Val[k.Snap.Arch.SP])
	if err != nil {
		return nil, err
	}
	var b target.Builder
	b.Add(base, stack, 0, target.PermRead|target.PermWrite)
	snap := *k.Snap
	snap.Memory, snap.Threads = b.Memory(snap.Arch), []target.Thread{{ID: 1, Regs: *regs}}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	bt, err := u.Backtraces(ctx, &snap)
	if err != nil {
		return nil, err
	}
	frames := slices.Clone(bt[0].Frames)
	if len(frames) < 2 {
		return frames, fmt.Errorf("no caller at %#x", frames[0].PC)
	}
	return frames, nil
}
